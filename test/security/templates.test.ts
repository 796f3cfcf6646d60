import { expect } from "vitest";
import { createInterpreter } from "../../src/interpreter/interpreter.ts";
import { storeTemplate } from "../support/store-template.ts";
import { type Member, openTeamLab, type TeamLab } from "../support/team-lab.ts";
import { plain } from "./support/walk-owned.ts";
import { verifies } from "./verifies.ts";

/** What each route of one template is sent; a route that is not here fails the walk. */
const ROUTES: Readonly<Record<string, object | undefined>> = {
  "GET /v1/templates/:name": undefined,
  "PUT /v1/templates/:name/shared": { isShared: true },
  "DELETE /v1/templates/:name": undefined,
  "GET /v1/templates/:name/builds/:id": undefined,
  "GET /v1/templates/:name/builds/:id/logs": undefined,
  "DELETE /v1/templates/:name/builds/:id": undefined,
};

verifies("templates-apart", async () => {
  await using lab = await openTeamLab();
  expect(Object.keys(ROUTES).toSorted()).toEqual(lab.routes.filter((route) => route.includes("/templates/:")).toSorted());
  await storeTemplate(lab.home, { owner: lab.alice.principal.id, name: "theirs" });
  const [owner, stranger] = [await sharing(lab, lab.alice), await sharing(lab, lab.bob)];
  const build = await begunBuild(lab, owner);
  const isUnknown = async (route: string, body: object | undefined): Promise<void> => {
    const at = (name: string): string => route.replace(":name", name).replace(":id", build);
    const [asked, missed] = [await lab.ask(stranger, at("theirs"), body), await lab.ask(stranger, at("none"), body)];
    expect({ ...asked, text: plain(asked.text, "theirs") }, route).toEqual({ ...missed, text: plain(missed.text, "none") });
    expect(asked.text, route).toContain("TEMPLATE_NOT_FOUND");
  };
  for (const [route, body] of Object.entries(ROUTES)) await isUnknown(route, body);
  expect((await lab.ask(stranger, "GET /v1/templates")).text).not.toContain("theirs");
  const started = lab.sandboxes.create(stranger.principal, { template: "theirs" }, AbortSignal.timeout(30_000));
  await expect(started).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
  const byLanguage = async (template: string): Promise<unknown> => {
    await using interpreter = createInterpreter({ sandboxes: lab.sandboxes, languages: { bash: { template } } });
    const program = { language: "bash", code: "true" };
    return interpreter.runProgram(stranger.principal, program, { signal: AbortSignal.timeout(30_000) }).catch(String);
  };
  expect(await byLanguage("theirs")).toContain("there is none for you");
  expect(plain(String(await byLanguage("theirs")), "theirs")).toBe(plain(String(await byLanguage("nowhere")), "nowhere"));
  const share = "PUT /v1/templates/theirs/shared";
  expect(await lab.ask(lab.alice, share, { isShared: true })).toMatchObject({ status: 403 });
  expect(await lab.ask(owner, share, { isShared: true })).toMatchObject({ status: 200 });
  expect((await lab.ask(stranger, "GET /v1/templates/theirs")).text).toContain('"isShared":true');
  await storeTemplate(lab.home, { owner: lab.bob.principal.id, name: "theirs" });
  expect(await lab.ask(stranger, share, { isShared: true })).toMatchObject({
    status: 409,
    text: expect.stringContaining("TEMPLATE_NAME_TAKEN"),
  });
  expect(await lab.ask(stranger, "DELETE /v1/templates/theirs")).toMatchObject({ status: 204 });
  for (const route of ["PUT /v1/templates/:name/shared", "DELETE /v1/templates/:name"]) await isUnknown(route, ROUTES[route]);
});

/** The member with a token that may share. */
async function sharing(lab: TeamLab, member: Member): Promise<Member> {
  const { token } = await lab.tokens.create(member.principal.name, ["template-share"]);
  return { ...member, token };
}

/** The id of a build of "theirs", which the owner itself is shown. */
async function begunBuild(lab: TeamLab, owner: Member): Promise<string> {
  const { text } = await lab.ask(owner, "POST /v1/templates/builds", { name: "theirs", dockerfile: "FROM scratch" });
  const { id } = JSON.parse(text) as { readonly id: string };
  expect(await lab.ask(owner, `GET /v1/templates/theirs/builds/${id}`)).toMatchObject({ status: 200 });
  return id;
}
