import { join } from "node:path";
import { type OpenOnce, openOnce } from "../../async/open-once.ts";
import type { Config } from "../../config/config.ts";
import { printableText } from "../../files/printable.ts";
import type { ClientRecord } from "../../network/egress/client-gate.ts";
import { namesNow } from "../../files/read-now.ts";
import type { FacadeSettings } from "../../gateway/facade/facade-settings.ts";
import { createOwnerGrants } from "../../gateway/auth/owner-grants.ts";
import type { SeenTokens } from "../../gateway/auth/oauth/seen-tokens.ts";
import { createTokenStore } from "../../gateway/auth/token-store.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { printLine } from "../print.ts";
import { openHomeSecretStore } from "./open-home-secret-store.ts";
import type { OpenedHub } from "./open-hub.ts";
import { type LocalStack, workspaceOption } from "./open-stack.ts";

/** The file of an owner who has added servers. */
const STORED = /\.[0-9]+\.json$/;

export interface HubParts {
  /** Holds what an older version was sent. */
  readonly settings: Pick<FacadeSettings, "servers">;
  /** The access tokens that this process lets in. */
  readonly accessTokens?: SeenTokens;
}

/** Whether there are servers to open: a process that serves one host opens none for nothing. */
export function hasServers(call: CommandCall, { home }: Config): boolean {
  return textOption(call, "mcp-config") !== undefined || namesNow(join(home, "servers")).some((name) => STORED.test(name));
}

/** Opens the servers of the file that `--mcp-config` names, and those that were added to the home. */
export function hubOf(
  call: CommandCall,
  { env, stderr }: CommandContext,
  stack: LocalStack,
  { settings, accessTokens }: HubParts,
): OpenOnce<OpenedHub> {
  const { config, sandboxes, audit } = stack;
  const file = textOption(call, "mcp-config");
  const report = (problem: string): void => printLine(stderr, `belljar: ${printableText(problem)}`);
  const tokens = createTokenStore(config.home);
  const owners = createOwnerGrants({ tokens, ...(accessTokens && { accessTokens }) });
  const sent = (id: string): ReturnType<FacadeSettings["servers"]> => settings.servers({ id, name: id });
  const ids = async (): Promise<readonly string[]> => [...new Set((await tokens.list()).map(({ name }) => `token:${name}`))];
  return openOnce(async () => {
    const shown = { workspace: await workspaceOption(config), owners: ids };
    const started = { config, sandboxes, secrets: openHomeSecretStore(config), templates: () => stack.templates(), report };
    const record = (client: ClientRecord): void => audit.recordConnection({ ...client, sandbox: "" });
    const { upstreamOptions } = await import("./open-egress.ts");
    const egress = { ...(await upstreamOptions(config)), record };
    return (await import("./open-hub.ts")).openHub({ ...started, file, shown, owners, env, egress, sent });
  });
}
