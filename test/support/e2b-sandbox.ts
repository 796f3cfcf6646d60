import type { Sandbox } from "e2b";
import type { E2bLab } from "./e2b-lab.ts";

/** Runs a shell's command in the sandbox, past E2B's surfaces. Resolves with its stdout, and rejects when it fails. */
export async function runInside({ cli, url }: E2bLab, sandbox: Sandbox, command: string): Promise<string> {
  // The key opens E2B's surfaces alone. Its principal may have other tokens.
  const { stdout: token } = await cli.run(["token", "create", "agent"]);
  const env = { BELLJAR_URL: url, BELLJAR_TOKEN: token.trim() };
  const { stdout, stderr, code } = await cli.run(["exec", sandbox.sandboxId, "--", "bash", "-c", command], { env });
  if (code !== 0) throw new Error(`${command}: ${stderr}`);
  return stdout;
}

/** What the SDK sends with each request to the sandbox's files. */
export function headersOf(sandbox: Sandbox): Readonly<Record<string, string>> {
  const { envdAccessToken } = sandbox as unknown as { readonly envdAccessToken: string };
  return { "x-access-token": envdAccessToken, "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": "49983" };
}
