import { expect, it } from "vitest";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import type { BuildName } from "../../../src/template/templates.ts";
import type { BuildInfo } from "../../../src/template/wire/build-schema.ts";
import { type BuildLab, openBuildLab } from "../../support/build-lab.ts";
import { listed } from "../../support/listed.ts";
import { shell } from "../../support/state-home.ts";

const signal = new AbortController().signal;
const WAIT_MS = 30_000;

const begin = ({ home, image }: BuildLab, lines: string, name = "built"): Promise<BuildInfo> =>
  home.templates.builds.begin(LOCAL, { name, dockerfile: `FROM ${image}\n${lines}` });

/** What the build says from there on, until the text has the word, or to its end. */
async function follow({ home }: BuildLab, build: BuildInfo, word?: string): Promise<{ readonly said: string; readonly state: string }> {
  let said = "";
  for (let offset = 0; ;) {
    const { text, nextOffset, state } = await home.templates.builds.log(LOCAL, build, { offset, waitMs: WAIT_MS }, signal);
    said += text;
    offset = nextOffset;
    if ((word !== undefined && said.includes(word)) || (text === "" && state !== "building")) return { said, state };
  }
}

it("a build that nobody waits for tells what it does as it does it, and makes its template", async () => {
  await using lab = await openBuildLab();
  const { templates } = lab.home;
  const build = await begin(lab, "RUN echo fir''st; until [ -e /srv/go ]; do :; done\nRUN echo sec''ond");
  expect(build).toMatchObject({ name: "built", owner: LOCAL.id, state: "building" });
  const { said: before } = await follow(lab, build, "\nfirst");
  const [building] = await listed(lab.home.sandboxes, LOCAL, { state: ["running"] });
  await shell(await lab.home.sandboxes.get(LOCAL, building!.id), ": > /srv/go");
  const { said, state } = await follow(lab, build);
  expect(before).not.toContain("second");
  expect(said).toMatch(/^FROM .*\nRUN .*\nfirst\nRUN .*\nsecond\n$/);
  expect(state).toBe("ready");
  expect(await templates.info(LOCAL, "built")).toMatchObject({ id: build.id });
  const other = await lab.home.openTemplates();
  expect(await other.builds.info(LOCAL, build)).toMatchObject({ state: "ready", endedAt: expect.any(Date) as Date });
});

it("a build that fails says why, in its state and in its log", async () => {
  await using lab = await openBuildLab();
  const build = await begin(lab, "RUN echo why; exit 3");
  expect(await follow(lab, build)).toMatchObject({ state: "failed", said: expect.stringContaining("\nwhy\n") as string });
  const error = { code: "COMMAND_FAILED", message: expect.stringMatching(/Line 2 .*exit code 3[^]*why/) as string };
  expect(await lab.home.templates.builds.info(LOCAL, build)).toMatchObject({ state: "failed", error });
  expect(await lab.home.templates.list(LOCAL)).toEqual([]);
});

it("a build that is stopped has failed, and leaves nothing but the steps that it had done", async () => {
  await using lab = await openBuildLab();
  const { templates, sandboxes } = lab.home;
  const build = await begin(lab, "RUN echo be''gun; while :; do :; done");
  await follow(lab, build, "\nbegun");
  await templates.builds.stop(LOCAL, build);
  expect(await templates.builds.info(LOCAL, build)).toMatchObject({ state: "failed", error: { code: "CANCELLED" } });
  await templates.builds.stop(LOCAL, build);
  expect((await sandboxes.list(LOCAL)).sandboxes.filter(({ state }) => state !== "ended")).toEqual([]);
  expect(await templates.list(LOCAL)).toEqual([]);
  await sandboxes.sweep();
  await templates.prune(LOCAL);
  expect(await lab.home.layers()).toEqual([]);
  expect(await templates.builds.info(LOCAL, build)).toMatchObject({ state: "failed" });
});

it("others' builds, those of another template and none are one answer", async () => {
  await using lab = await openBuildLab();
  const { builds } = lab.home.templates;
  const build = await begin(lab, "RUN true");
  await follow(lab, build);
  const other: Principal = { id: "token:other", name: "other" };
  const failures = async (principal: Principal, one: BuildName) => [
    await builds.info(principal, one).catch((cause: unknown) => cause),
    await builds.log(principal, one, { offset: 0, waitMs: 0 }, signal).catch((cause: unknown) => cause),
    await builds.stop(principal, one).catch((cause: unknown) => cause),
  ];
  const unknown = await failures(LOCAL, { name: "built", id: "0".repeat(20) });
  expect(unknown).toMatchObject([{ code: "TEMPLATE_NOT_FOUND" }, { code: "TEMPLATE_NOT_FOUND" }, { code: "TEMPLATE_NOT_FOUND" }]);
  for (const id of [build.id, "../../sandboxes", "", "x"]) expect(await failures(other, { name: "built", id })).toEqual(unknown);
  expect(await failures(LOCAL, { name: "else", id: build.id })).toEqual(unknown);
});

it("an owner has so many builds at once, and the last ones are kept", async () => {
  await using lab = await openBuildLab();
  const { templates } = lab.home;
  const going: BuildInfo[] = [];
  for (let at = 0; at < 8; at += 1) going.push(await begin(lab, "RUN while :; do :; done", `built${at}`));
  await expect(begin(lab, "RUN true", "more")).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  await Promise.all(going.map((build) => templates.builds.stop(LOCAL, build)));
  for (let at = 0; at < 32; at += 1)
    await follow(lab, await templates.builds.begin(LOCAL, { name: `last${at}`, dockerfile: "FROM nothing:here\nENV" }));
  await expect(templates.builds.info(LOCAL, going[0]!)).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
});
