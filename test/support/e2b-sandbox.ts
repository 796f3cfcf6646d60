import type { Sandbox } from "e2b";

/** What the SDK sends with each request to the sandbox's files. */
export function headersOf(sandbox: Sandbox): Readonly<Record<string, string>> {
  const { envdAccessToken } = sandbox as unknown as { readonly envdAccessToken: string };
  return { "x-access-token": envdAccessToken, "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": "49983" };
}
