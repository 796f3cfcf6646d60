import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readHubFile } from "../../../src/mcp/proxy/hub-file.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { type HubLab, type HubLabOptions, openHubLab } from "../../support/hub-lab.ts";
import { logInAt } from "../../support/log-in-at.ts";
import { type OAuthServer, type OAuthServerOptions, openOAuthServer } from "../../support/oauth-server.ts";
import { textOf } from "../../support/tools-lab.ts";

const ANN: Principal = { id: "token:ann", name: "ann", grants: {} };
const ADVICE = "run `belljar server login far`";

interface Place extends AsyncDisposable {
  readonly far: OAuthServer;
  readonly lab: HubLab;
  readonly logIn: (owner?: Principal) => ReturnType<typeof logInAt>;
  readonly echo: (principal?: Principal) => ReturnType<HubLab["call"]>;
  readonly state: (principal?: Principal) => string | undefined;
}

/** A server behind a hub, with the logins of each owner in a folder. */
async function openPlace(options: OAuthServerOptions = {}): Promise<Place> {
  const far = await openOAuthServer(options);
  const root = await mkdtemp(join(tmpdir(), "bj-hub-logins-"));
  const folderOf = ({ id }: Principal = LOCAL): string => join(root, id);
  const logins: HubLabOptions["logins"] = (owner) => ({ folder: folderOf({ id: owner, name: owner }), advice: () => ADVICE });
  const lab = await openHubLab({ far: { url: far.url } }, { logins });
  return {
    far,
    lab,
    logIn: (owner) => logInAt(far, folderOf(owner)),
    echo: (principal = LOCAL) => lab.call("mcp_far_echo", { text: "hi" }, { principal }),
    state: (principal = LOCAL) => lab.hub.servers(principal)[0]?.state,
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      await far[Symbol.asyncDispose]();
      await rm(root, { recursive: true });
    },
  };
}

const refreshes = ({ tokenRequests }: OAuthServer): number =>
  tokenRequests.filter((form) => form.get("grant_type") === "refresh_token").length;

describe("a server that wants a login", () => {
  it("is told to need one, with the command, and serves as soon as another process has it", async () => {
    await using place = await openPlace();
    const { lab, state } = place;
    await lab.until(() => state() === "needs_login");
    expect(lab.hub.servers(LOCAL)).toMatchObject([{ error: { code: "UNAUTHORIZED", message: expect.stringContaining(ADVICE) as string } }]);
    expect(lab.problems).toEqual([expect.stringContaining(ADVICE)]);
    const refused = { isError: true, value: { code: "UNAUTHORIZED", message: expect.stringContaining(ADVICE) as string } };
    expect(await place.echo(), "of a server that nobody knows the tools of").toMatchObject(refused);
    for (const [principal, tool] of [
      [LOCAL, "mcp_farther_echo"],
      [ANN, "mcp_far_echo"],
    ] as const)
      await expect(lab.call(tool, {}, { principal })).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
    await place.logIn();
    await lab.until(() => state() === "ready");
    expect(lab.names()).toContain("mcp_far_echo");
    expect(textOf(await place.echo())).toBe("hi");
  }, 60_000);

  it("is tried again by a restart", async () => {
    await using place = await openPlace();
    await place.lab.until(() => place.state() === "needs_login");
    await place.lab.hub.restart(LOCAL, "far");
    expect(place.state()).toBe("needs_login");
    await place.logIn();
    await place.lab.hub.restart(LOCAL, "far");
    expect(place.state()).toBe("ready");
  }, 60_000);

  it("answers calls with the command once the login is over, and with answers after the next one", async () => {
    await using place = await openPlace();
    const { lab, far, state } = place;
    const login = await place.logIn();
    await lab.until(() => state() === "ready");
    expect(textOf(await place.echo())).toBe("hi");
    far.expire();
    far.forget();
    expect(await place.echo()).toMatchObject({
      isError: true,
      value: { code: "UNAUTHORIZED", message: expect.stringContaining(ADVICE) as string },
    });
    await lab.until(() => state() === "needs_login");
    expect(lab.names(), "what it has is still known").toContain("mcp_far_echo");
    await place.logIn();
    await lab.until(() => state() === "ready");
    expect(textOf(await place.echo())).toBe("hi");
    await login.logOut();
  }, 60_000);

  it("uses a login no more that another process has ended", async () => {
    await using place = await openPlace();
    const login = await place.logIn();
    await place.lab.until(() => place.state() === "ready");
    expect(textOf(await place.echo())).toBe("hi");
    await login.logOut();
    // The token is still good at the server.
    await place.lab.hub.restart(LOCAL, "far");
    expect(place.state()).toBe("needs_login");
    expect(await place.echo()).toMatchObject({ isError: true, value: { code: "UNAUTHORIZED" } });
  }, 60_000);

  it("renews its token once for calls that are made at once, by any client", async () => {
    await using place = await openPlace();
    const { lab, far } = place;
    await place.logIn();
    await lab.until(() => place.state() === "ready");
    const echo = (clientId: string) => lab.call("mcp_far_echo", { text: clientId }, { clientId });
    const ids = ["a", "b", "c", "d"];
    expect((await Promise.all(ids.map(echo))).map(textOf)).toEqual(ids);
    far.expire();
    expect((await Promise.all([...ids, ...ids].map(echo))).map(textOf)).toEqual([...ids, ...ids]);
    expect(refreshes(far)).toBe(1);
  }, 60_000);

  it("stays ready when a call alone needs another scope, and says so", async () => {
    await using place = await openPlace({ callScope: "write" });
    await place.logIn();
    await place.lab.until(() => place.state() === "ready");
    expect(await place.echo()).toMatchObject({
      isError: true,
      value: { code: "FORBIDDEN", message: expect.stringContaining(ADVICE) as string },
    });
    expect(place.state()).toBe("ready");
  }, 60_000);

  it("has a login of its owner's, and of nobody else", async () => {
    await using place = await openPlace();
    const { lab, far } = place;
    const scope = { env: {}, workspaceFolder: "/", userHome: "/", inputs: new Map<string, string>(), lookOnHost: () => undefined };
    lab.hub.set(ANN.id, await readHubFile(JSON.stringify({ mcpServers: { far: { url: far.url } } }), "ann.json", scope));
    await lab.until(() => place.state() === "needs_login" && place.state(ANN) === "needs_login");
    await place.logIn();
    await lab.until(() => place.state() === "ready");
    await lab.hub.restart(ANN, "far");
    expect(place.state(ANN)).toBe("needs_login");
    await place.logIn(ANN);
    await lab.until(() => place.state(ANN) === "ready");
    expect([textOf(await place.echo()), textOf(await place.echo(ANN))]).toEqual(["hi", "hi"]);
  }, 60_000);
});
