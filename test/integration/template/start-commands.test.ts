import { expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import type { StartCommand } from "../../../src/sandbox/wire/start-command.ts";
import { listed } from "../../support/listed.ts";
import { shell } from "../../support/state-home.ts";
import { openTemplateHome, type TemplateHome } from "../../support/template-home.ts";

const signal = new AbortController().signal;
const SERVER = "python3 -m http.server --bind 127.0.0.1 8123";

async function make(home: TemplateHome, start: StartCommand): Promise<void> {
  const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
  const { id: snapshot } = await home.sandboxes.snapshots.create(LOCAL, sandbox.id, {}, signal);
  await sandbox.kill();
  await home.templates.make(LOCAL, { name: "serving", snapshot, start }, signal);
}

const running = (home: TemplateHome) => listed(home.sandboxes, LOCAL, { state: ["running"] });
const create = (home: TemplateHome) => home.sandboxes.create(LOCAL, { template: "serving" }, signal);

it("a sandbox is handed over once its start command listens, and its next run and its forks begin in the same way", async () => {
  await using home = await openTemplateHome();
  await make(home, { command: `cd /tmp; echo here >served; sleep 0.5; ${SERVER}`, readyPort: 8123 });
  expect((await home.templates.info(LOCAL, "serving")).start).toMatchObject({ readyPort: 8123 });
  const sandbox = await create(home);
  const served = `python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:8123/served").read().decode())'`;
  expect(await shell(sandbox, served)).toBe("here");
  const { id } = await home.sandboxes.snapshots.create(LOCAL, sandbox.id, {}, signal);
  await sandbox.stop();
  expect(await shell(await sandbox.start(signal), served)).toBe("here");
  const [fork] = await home.sandboxes.snapshots.fork(LOCAL, { snapshot: id }, {}, signal);
  expect(await shell(fork!, served)).toBe("here");
});

it("a check says when it is ready", async () => {
  await using home = await openTemplateHome();
  await make(home, { command: "sleep 0.5; echo done >/tmp/ready; sleep 1000", ready: "grep -q done /tmp/ready" });
  expect(await shell(await create(home), "cat /tmp/ready")).toBe("done");
});

it("a command that starts a daemon and ends well is none that failed", async () => {
  await using home = await openTemplateHome();
  await make(home, { command: `setsid ${SERVER} >/dev/null 2>&1 &`, readyPort: 8123 });
  expect(await shell(await create(home), "cat /tmp/belljar-start.log")).toBe("");
});

it("a sandbox whose start command fails, or is never ready, is not made, and the end of its log is told", async () => {
  await using home = await openTemplateHome();
  const failing: readonly (readonly [StartCommand, RegExp])[] = [
    [{ command: "echo no database; exit 3", ready: "false" }, /ended with exit code 3\. The end of .*:\nno database$/s],
    [{ command: "kill -9 $$", ready: "false" }, /ended with SIGKILL\. It printed nothing$/],
    [{ command: "sleep 1000", ready: "false", readyTimeoutMs: 300 }, /was not ready within 300 ms/],
    [{ command: "sleep 1000", readyPort: 9, readyTimeoutMs: 300 }, /was not ready within 300 ms/],
    [{ command: "yes | head -c 100000; exit 4", ready: "false" }, /ended with exit code 4\. .*:\n(?:y\n){900,1000}y$/s],
  ];
  for (const [start, message] of failing) {
    await make(home, start);
    await expect(create(home), start.command).rejects.toMatchObject({ code: "START_FAILED", message: expect.stringMatching(message) });
  }
  expect(await running(home)).toEqual([]);
});

it("a run that is started again without its start command is there all the same, and that is reported", async () => {
  await using home = await openTemplateHome();
  await make(home, {
    command: "echo printed; test ! -e /tmp/broken && sleep 1000",
    ready: "grep -q printed /tmp/belljar-start.log && ! test -e /tmp/broken",
  });
  const sandbox = await create(home);
  await shell(sandbox, "echo why >/tmp/broken");
  await sandbox.stop();
  expect(await shell(await sandbox.start(signal), "cat /tmp/broken")).toBe("why");
  expect(home.problems).toEqual([
    `Sandbox ${sandbox.id} was started again without its start command, which ended with exit code 1 (/tmp/belljar-start.log in it has what it printed)`,
  ]);
});

it("a caller that gives up while the command starts leaves no sandbox", async () => {
  await using home = await openTemplateHome();
  await make(home, { command: "sleep 1000", ready: "false" });
  const options = { template: "serving" };
  const impatient = new AbortController();
  const made = home.sandboxes.create(LOCAL, options, impatient.signal);
  await expect.poll(async () => (await running(home)).length).toBe(1);
  impatient.abort();
  await expect(made).rejects.toBeDefined();
  expect(await running(home)).toEqual([]);
});

const SLOW = { command: "echo >>/home/user/starts; sleep 1000", ready: "test ! -e /home/user/slow || test -e /home/user/go" };
/** How often the command of `SLOW` has run. Empty between two runs of the sandbox. */
const starts = async (home: TemplateHome, id: string): Promise<string> => {
  try {
    return await shell(await home.sandboxes.get(LOCAL, id), "wc -l </home/user/starts");
  } catch {
    return "";
  }
};

it("a caller that gives up a start gets the run without a report, and the command goes on", async () => {
  await using home = await openTemplateHome();
  await make(home, SLOW);
  const sandbox = await create(home);
  await shell(sandbox, "touch /home/user/slow");
  await sandbox.stop();
  const impatient = new AbortController();
  const started = sandbox.start(impatient.signal);
  await expect.poll(() => starts(home, sandbox.id), { timeout: 20_000 }).toBe("2");
  impatient.abort();
  expect(await shell(await started, "pgrep -x sleep | wc -l")).not.toBe("0");
  expect(home.problems).toEqual([]);
});

it("a sandbox that is put back can be frozen while its start command gets ready", async () => {
  await using home = await openTemplateHome();
  await make(home, { ...SLOW, readyTimeoutMs: 20_000 });
  const { id, timeLine, guest } = await create(home);
  await guest.files.write("slow", "", { signal });
  const point = await timeLine.checkpoint({}, signal);
  const rolledBack = timeLine.rollback(point.id, signal);
  await expect.poll(() => starts(home, id), { timeout: 20_000 }).toBe("2");
  const now = await home.sandboxes.get(LOCAL, id);
  await now.timeLine.checkpoint({}, signal);
  await now.guest.files.write("go", "", { signal });
  expect((await rolledBack).checkpoint).toBe(point.id);
  expect(home.problems).toEqual([]);
});

it("the start command of a sandbox that is put back trusts the authority that its network has had since", async () => {
  await using home = await openTemplateHome();
  const trusts = "test -e /etc/ssl/certs/belljar-ca.pem";
  await make(home, { command: `${trusts} && touch /home/user/trusts; touch /home/user/ran; sleep 1000`, ready: "test -e /home/user/ran" });
  const before = await create(home);
  await before.guest.files.remove("ran", { signal });
  const { id } = await before.timeLine.checkpoint({}, signal);
  await before.setNetwork({ allow: ["GET https://api.example.com/v1"] });
  const { sandbox } = await before.timeLine.rollback(id, signal);
  expect(await shell(sandbox, "ls /home/user")).toBe("ran\ntrusts");
});
