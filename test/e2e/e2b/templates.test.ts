import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BuildError, Sandbox, Template, type BuildOptions, type TemplateClass, waitForFile, waitForTimeout } from "e2b";
import { expect, it } from "vitest";
import { type E2bLab, openE2bLab } from "../../support/e2b-lab.ts";
import { temporaryFolder } from "../../support/image-maker.ts";

const GREETING = `it's "$OF" \\n`;

/** What the build printed, without what the SDK says of itself. */
async function build(lab: E2bLab, template: TemplateClass, name: string, more: Omit<BuildOptions, "alias"> = {}) {
  const said: string[] = [];
  const built = await Template.build(template, name, { ...lab.options, ...more, onBuildLogs: ({ message }) => void said.push(message) });
  return { ...built, said };
}

async function context() {
  const folder = await temporaryFolder();
  mkdirSync(join(folder.path, "app/deep"), { recursive: true });
  writeFileSync(join(folder.path, "app/one.txt"), "one");
  writeFileSync(join(folder.path, "app/deep/two.txt"), "two");
  symlinkSync("one.txt", join(folder.path, "app/link"));
  chmodSync(join(folder.path, "app/deep/two.txt"), 0o750);
  return folder;
}

/** Commands of a template say what is in it, without another sandbox. */
const looks = (template: string, commands: readonly string[]) =>
  commands.reduce((all, one) => all.runCmd(`printf =; (${one}) | tr '\\n' ,; echo`), Template().fromTemplate(template));

const answers = (said: readonly string[]): readonly string[] => said.filter((line) => line.startsWith("=")).map((line) => line.slice(1));

it("the SDK builds templates with files, variables, users and folders, tags them and starts sandboxes from them", async () => {
  await using lab = await openE2bLab();
  await using files = await context();
  const { options } = lab;
  const first = Template({ fileContextPath: files.path })
    .fromBaseImage()
    .setEnvs({ OF: "x", GREETING, EMPTY: "", LINES: "a\nb" })
    .setEnvs({ LATER: "$OF/${OF}\\$OF" })
    .setWorkdir("/srv/it's $OF")
    .copy("app", "copied/")
    .copy("app/*.txt", "/opt/flat", { user: "root", mode: 0o755 })
    .runCmd(`printf '%s' "$GREETING" > 'a "b" $c'; whoami > who`)
    .runCmd("whoami > /srv/root", { user: "root" })
    .setStartCmd("echo on > /tmp/started; sleep 1000", waitForFile("/tmp/started"));
  const built = await build(lab, first, "first:v1", { tags: ["stable"] });
  expect(built).toMatchObject({ templateId: "first", tags: ["v1", "stable"] });
  expect(built.said).toContain("[3/7] WORKDIR /srv/it's $OF");

  const checks = [
    "pwd; cat copied/one.txt copied/deep/two.txt copied/link",
    "stat -c %U:%a copied copied/deep/two.txt; readlink copied/link",
    "ls /opt/flat; stat -c %U:%a /opt/flat/one.txt",
    `cat 'a "b" $c' who /srv/root; stat -c %U .`,
    `printf '[%s]' "$LINES" "$LATER" "$EMPTY"`,
    "whoami; echo $HOME",
  ];
  expect(answers((await build(lab, looks("first:v1", checks), "second")).said)).toEqual([
    "/srv/it's x,onetwoone",
    "user:755,user:750,one.txt,",
    "one.txt,root:755,",
    `it's "x" \\nuser,root,user,`,
    "[a,b][x/x$OF][]",
    "user,/home/user,",
  ]);
  const exists = (name: string) => Template.exists(name, options);
  const there = ["first:v1", "first:stable", "agent/first:v1", "FIRST:V1", "second", "base", "e2bdev/base", "code-interpreter-v1"];
  expect(await Promise.all(there.map(exists))).not.toContain(false);
  expect(await Promise.all(["first", "first:v2", "other/first:v1", "none", "../x", "a b", "first:"].map(exists))).not.toContain(true);

  expect(await Template.assignTags("first:v1", ["prod", "default"], options)).toEqual({
    buildId: built.buildId,
    tags: ["prod", "default"],
  });
  await Template.removeTags("first", ["prod", "v1"], options);
  const tags = await Template.getTags("first", options);
  expect(tags.map(({ tag, buildId }) => [tag, buildId])).toEqual([
    ["default", built.buildId],
    ["stable", built.buildId],
  ]);
  await expect(Template.removeTags("first", "default", options)).rejects.toMatchObject({
    message: expect.stringContaining("400") as string,
  });
  await expect(Template.removeTags("first", "v1", options)).rejects.toMatchObject({ message: expect.stringContaining("404") as string });
  for (const name of ["first", "agent/first:stable"]) expect(await startLog(lab, name)).toBe("on\n/srv/it's x\n");

  const listed = (await (await lab.askAsOwner("/templates")).json()) as { templateID: string; buildID: string; names: string[] }[];
  expect(listed.map(({ templateID, names }) => [templateID, ...names].join()).toSorted()).toEqual([
    "first,agent/first",
    "second,agent/second",
  ]);
  const page = await lab.askAsOwner("/v2/templates?limit=1");
  const next = await lab.askAsOwner(`/v2/templates?limit=1&nextToken=${page.headers.get("x-next-token")}`);
  expect([await page.json(), await next.json()]).toMatchObject([[{ templateID: "first" }], [{ templateID: "second" }]]);
  expect(next.headers.get("x-next-token")).toBeNull();
  expect(await (await lab.askAsOwner("/templates/first")).json()).toMatchObject({ builds: [{ buildID: built.buildId, status: "ready" }] });
  const remove = async (name: string) => (await lab.askAsOwner(`/templates/${encodeURIComponent(name)}`, { method: "DELETE" })).status;
  expect([await remove("first:stable"), await remove("first"), await remove("first"), await exists("first")]).toEqual([
    204,
    204,
    404,
    false,
  ]);
});

/** What its start command wrote into a sandbox of it. */
async function startLog({ options }: E2bLab, template: string): Promise<string> {
  const sandbox = await Sandbox.create(template, options);
  const { stdout } = await sandbox.commands.run("cat /tmp/started; pwd");
  await sandbox.kill();
  return stdout;
}

it("a build that fails says at which step, in E2B's words, and skipCache does steps again", async () => {
  await using lab = await openE2bLab();
  const failure = async (template: TemplateClass) =>
    build(lab, template, "bad").then(
      () => undefined,
      (cause: unknown) => cause,
    );
  const steps = Template().fromBaseImage().setEnvs({ A: "1" });
  const unknown = await failure(steps.runCmd("whoami", { user: "root123" }));
  expect(unknown).toBeInstanceOf(BuildError);
  expect(unknown).toMatchObject({
    message: "failed to run command 'whoami': command failed: unauthenticated: invalid username: 'root123'",
  });
  const failed = await failure(Template().fromBaseImage().runCmd("true").runCmd("echo why >&2; exit 7"));
  expect(failed).toMatchObject({ message: expect.stringMatching(/: Step 2 failed with exit code 7[^]*why/) as string });
  const nowhere = await failure(Template().fromBaseImage().runCmd("true").setWorkdir("$NONE"));
  expect(nowhere).toMatchObject({ message: expect.stringMatching(/^Step 2: it names an empty path/) as string });
  const stack = (failed as Error).stack ?? "";
  expect(stack, "the SDK finds the line of the program that wrote the step").toContain("templates.test.ts");
  expect(await Template.exists("bad", lab.options)).toBe(false);
  await expect(build(lab, Template().fromTemplate("none"), "bad")).rejects.toMatchObject({
    message: expect.stringContaining("404") as string,
  });

  const random = () =>
    Template().fromBaseImage().runCmd("cat /proc/sys/kernel/random/uuid | sed s/^/=/ | tee ~/id").runCmd("sed s/^=/=kept/ ~/id");
  const said = async (template: TemplateClass, skipCache = false) => (await build(lab, template, "random", { skipCache })).said.join();
  const kept = (text: string) => /=kept[0-9a-f-]{36}/.exec(text)?.[0];
  await said(random());
  const again = await said(random());
  expect(kept(again)).toBeUndefined();
  expect(again).toContain("as built before");
  const fresh = await said(random(), true);
  expect(kept(fresh)).toBeDefined();
  expect(await said(random().runCmd("sed s/^=/=kept/ ~/id"))).toContain(kept(fresh));
});

it("a start command is tried when its build ends, which waits for a time that sandboxes do not wait for", async () => {
  await using lab = await openE2bLab();
  const { options } = lab;
  const failing = Template().fromBaseImage().setStartCmd("echo no port; exit 3", waitForTimeout(30_000));
  await expect(build(lab, failing, "failing")).rejects.toThrow(/exit code 3.*no port/s);
  expect(await Template.exists("failing", options)).toBe(false);
  const lasting = Template()
    .fromBaseImage()
    .runCmd("echo made > ~/made")
    .setStartCmd("cat ~/made > /tmp/on; sleep 600", waitForTimeout(1_000));
  await build(lab, lasting, "lasting");
  const { stdout: token } = await lab.cli.run(["token", "create", "agent"]);
  const told = await lab.ask("/v1/templates/lasting", { headers: { authorization: `Bearer ${token.trim()}` } });
  expect(await told.json(), "no sandbox waits for a time").not.toHaveProperty("start.ready");
  const sandbox = await Sandbox.create("lasting", options);
  expect((await sandbox.commands.run("until [ -s /tmp/on ]; do sleep 0.1; done; cat /tmp/on")).stdout).toBe("made\n");
});
