import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { withLogin as withRecord } from "./login-record.ts";
import { withLogin } from "./login-fetch.ts";
import { LoginStore } from "./login-store.ts";
import { ServerLogin } from "./server-login.ts";

const url = new URL("https://far.example/mcp");

it("puts the token on requests to the server's origin alone, over whatever stands there", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bj-"));
  try {
    const tokens = { access_token: "t0ken" };
    await new LoginStore(folder).change(url, (now) =>
      withRecord(now, "i", { client: { client_id: "c", source: "registered" }, tokens, resource: "r", authorizationServer: "a" }),
    );
    const login = new ServerLogin({ name: "far", url }, { isAsked: true }, { folder, advice: () => "log in" });
    const plain = async (_url: string | URL, init?: RequestInit): Promise<Response> =>
      new Response(new Headers(init?.headers).get("authorization"));
    const sent = withLogin(plain, login);
    const to = async (address: string) => (await sent(address, { headers: { Authorization: "mine" } })).text();
    expect(await to("https://far.example/messages?a")).toBe("Bearer t0ken");
    for (const other of ["https://far.example:444/mcp", "http://far.example/mcp", "https://far.example.evil/mcp"])
      expect(await to(other)).toBe("mine");
  } finally {
    await rm(folder, { recursive: true });
  }
});
