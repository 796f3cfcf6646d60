import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Host, HostPlace } from "./host.ts";
import { programOf } from "./installed-hosts.ts";

/** A host takes ten seconds; a busy machine many times as long. */
export const LIMIT_SECONDS = 240;

/**
 * Runs a host to its end. It has no setting of the developer's and no way out but the model, and its process group is gone afterwards.
 * `timeout` ends the group when this process can not. Rejects with what the host said when it failed.
 */
export async function runHost(host: Host, place: HostPlace): Promise<void> {
  const { args, env, settings } = host.launch(place);
  await Promise.all(Object.entries(settings).map(([name, text]) => writeSettings(join(place.home, name), text)));
  const program = programOf(host);
  const command = program.endsWith(".js") ? [process.execPath, program] : [program];
  const child = spawn("timeout", ["--kill-after=1", String(LIMIT_SECONDS), ...command, ...args], {
    cwd: place.project,
    env: { ...baseEnv(place), ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const end = (): void => endGroup(child.pid);
  process.once("exit", end);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`${host.title} ended with ${code}, and said:\n${said}`);
  } finally {
    process.off("exit", end);
    end();
  }
}

async function writeSettings(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** The model is the proxy too, and refuses. */
function baseEnv({ home, modelUrl }: HostPlace): Readonly<Record<string, string>> {
  const proxy = { HTTP_PROXY: modelUrl, HTTPS_PROXY: modelUrl, http_proxy: modelUrl, https_proxy: modelUrl };
  const straight = { NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" };
  return { PATH: process.env["PATH"] ?? "", HOME: home, TMPDIR: join(home, "tmp"), ...proxy, ...straight };
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ESRCH") throw error;
  }
}
