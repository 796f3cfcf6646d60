import { readFileSync } from "node:fs";
import type { Config } from "../../config/config.ts";
import { BelljarError } from "../../errors.ts";
import { errnoOf } from "../../files/file-error.ts";
import type { ServerAddress } from "../../remote/server-connection.ts";
import type { CommandContext } from "../command.ts";

const MACHINE_TOKEN_FILE = "/etc/belljar/token";

/** Returns the server of the command, or undefined for the home. Its token is in `--token-file`, BELLJAR_TOKEN or the machine's file. */
export function serverAddress(config: Config, { env }: Pick<CommandContext, "env">): ServerAddress | undefined {
  if (config.url === undefined) return undefined;
  const token = config.tokenFile === undefined ? env["BELLJAR_TOKEN"] || readMachineToken() : readToken(config.tokenFile);
  return { url: config.url, ...(token && { token }) };
}

function readToken(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (cause) {
    throw new BelljarError("CONFIG_INVALID", `Cannot read the token file ${path}: check that it exists and is readable`, { cause });
  }
}

/** Returns undefined if the file does not exist, or if this user may not read it. */
function readMachineToken(): string | undefined {
  try {
    return readFileSync(MACHINE_TOKEN_FILE, "utf8").trim();
  } catch (cause) {
    const code = errnoOf(cause) ?? "";
    if (["ENOENT", "ENOTDIR", "EACCES"].includes(code)) return undefined;
    throw new BelljarError("CONFIG_INVALID", `Cannot read ${MACHINE_TOKEN_FILE} (${code}): mend it, or name another with --token-file`, {
      cause,
    });
  }
}
