import { afterAll, beforeAll, expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { type HubLab, hubServer, openHubLab, SERVER_CODE } from "../../support/hub-lab.ts";
import { openPackageLab, type PackageLab } from "../../support/package-lab.ts";
import { textOf } from "../../support/tools-lab.ts";

const STARTS = `fetch("http://start.test/").catch((error) => { console.error("no start: " + error.cause.code); process.exit(1); });`;

let way: PackageLab;
let lab: HubLab;
beforeAll(async () => {
  way = await openPackageLab();
  lab = await openHubLab(
    {
      one: hubServer(),
      some: hubServer({ network: { allow: ["npm.test"] } }),
      begins: {
        ...hubServer(),
        args: ["--input-type=module", "-e", `await fetch("http://begin.test/").catch(() => undefined);\n${SERVER_CODE}`],
      },
      starts: { command: "node", args: ["-e", STARTS] },
    },
    { packages: way },
  );
  await lab.until(() => Object.values(lab.states()).every((state) => state !== "starting"));
}, 60_000);
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]();
  await way?.[Symbol.asyncDispose]();
}, 60_000);

const info = (name: string) => lab.hub.servers(LOCAL).find((server) => server.name === name);

it("says in the result of a failed call what the network refused, and which line allows it", async () => {
  const said = textOf(await lab.call("mcp_one_fetch", { url: "http://api.test/", variable: "HOME" }));
  expect(said).toMatch(/Network: refused[^]*api\.test/);
  expect(said).toMatch(/add to the entry of the server "one": "network": \{"allow":\["[^"]*api\.test[^"]*"\]\}/);
  expect(textOf(await lab.call("mcp_one_rich")), "it is told once").not.toContain("refused");
});

it("says it in the log, the list and the infos of the server", () => {
  expect(lab.hub.logs(LOCAL, "one").join("\n")).toMatch(/refused[^]*api\.test[^]*add to the entry/);
  expect(info("one")?.refused?.join()).toContain("api.test");
  expect(info("some")).not.toHaveProperty("refused");
});

it("says it of a server that did not start for it", () => {
  expect(info("starts")).toMatchObject({
    state: "failed",
    error: { message: expect.stringMatching(/no start[^]*refused[^]*start\.test[^]*add to the entry/) },
  });
});

it("says it of a server that goes on without it, before anybody calls it", () => {
  expect(info("begins")).toMatchObject({ state: "ready", refused: [expect.stringContaining("begin.test")] });
});

it("leaves the answer of a call that succeeds as it is, and says it in the log", async () => {
  const answer = await lab.call("mcp_some_fetch", { url: "http://quiet.test/", variable: "HOME", quiet: true });
  expect(answer.isError).not.toBe(true);
  expect(textOf(answer)).not.toContain("refused");
  expect(lab.hub.logs(LOCAL, "some").join("\n")).toContain("quiet.test");
});
