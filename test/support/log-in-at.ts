import { ServerLogin } from "../../src/mcp/client/oauth/server-login.ts";
import type { OAuthServer } from "./oauth-server.ts";

/** Logs a person who agrees to everything in at a server, as another process does that has the same folder. */
export async function logInAt(far: OAuthServer, folder: string): Promise<ServerLogin> {
  const login = new ServerLogin({ name: "far", url: new URL(far.url) }, { isAsked: true }, { folder, advice: () => "" });
  await login.logIn(undefined, async () => ({
    redirectUrl: "http://127.0.0.1:1/callback",
    authorize: async (address) => ({ kind: "redirect", query: (await far.browse(address)).searchParams }),
    [Symbol.asyncDispose]: async () => undefined,
  }));
  return login;
}
