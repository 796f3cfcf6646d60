import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "@e2b/desktop";
import { expect, it } from "vitest";
import { findChromium, openPage } from "../../support/chromium.ts";
import { RECORD, RECORDS } from "../../support/desktop-lab.ts";
import { type E2bLab, openE2bLab } from "../../support/e2b-lab.ts";
import { watchRfb } from "../../support/rfb-watcher.ts";
import { trustHere } from "../../support/trust-here.ts";

const ROOT = join(import.meta.dirname, "../../..");
const EXAMPLE = "examples/templates/desktop";
const DOMAIN = "e2b.localhost";
const SIZE = [1280, 800] as const;
const FROM = "debian-desktop";
const chromium = findChromium();
/** Methods that others call, and what waits for time alone. */
const INNER = ["constructor", "waitAndVerify", "_start", "startXfce4", "breakIntoChunks", "quoteString", "wait"];
const INNER_OF_STREAM = ["constructor", "getVNCCommand", "waitForPort", "checkVNCRunning"];

function readExample(name: string): string {
  return readFileSync(join(ROOT, EXAMPLE, name), "utf8");
}

/** What the README says makes the template. */
function makingCommands(): readonly (readonly string[])[] {
  return [...readExample("README.md").matchAll(/^node bin\/belljar\.js (template .*)$/gm)].map(([, argv = ""]) => argv.split(" "));
}

/** The example on the programs of this machine, in the place of Debian's packages. What its builds have written is Belljar's alone to remove. */
async function makeTemplate({ cli }: E2bLab): Promise<AsyncDisposable> {
  const [, ...commands] = makingCommands();
  for (const argv of commands) {
    const { code, stderr } = await cli.run(argv[1] === "build" ? [...argv, "--build-arg", "FROM=base"] : argv, { cwd: ROOT });
    expect(code, stderr.slice(-2_000)).toBe(0);
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const verb of [["remove", "desktop"], ["prune"]]) await cli.run(["template", ...verb]);
    },
  };
}

/** The object, and which methods of it were called. */
function noting<Noted extends object>(object: Noted): { readonly noted: Noted; readonly called: Set<string> } {
  const called = new Set<string>();
  const noted = new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      called.add(String(name));
      return value.bind(target) as unknown;
    },
  });
  return { noted, called };
}

function publicNames(object: object, inner: readonly string[]): readonly string[] {
  const { prototype } = object.constructor as { readonly prototype: object };
  return Object.getOwnPropertyNames(prototype).filter((name) => !inner.includes(name));
}

/** The mouse's buttons as xterm tells of them, without its ways. */
function buttonsOf(recorded: string): readonly string[] {
  const all = [...recorded.matchAll(/\^\[\[<(\d+);\d+;\d+([Mm])/g)].map(([, button, way]) => `${button}${way}`);
  return all.filter((one) => !/^3\d/.test(one));
}

const click = (button: number) => [`${button}M`, `${button}m`];

it("the example of a desktop names the packages of desktops and what it is built on", () => {
  const [making, build, share] = makingCommands();
  expect(making?.slice(0, 5)).toEqual(["template", "import", FROM, "--debian", "trixie"]);
  expect(build).toEqual(["template", "build", "desktop", "--context", EXAMPLE]);
  expect(share).toEqual(["template", "share", "desktop"]);
  expect(readExample("Dockerfile")).toContain(`ARG FROM=${FROM}\n`);
  const [, named = ""] =
    /apt-get install --no-install-recommends ([a-z0-9 ]+)/.exec(readFileSync(join(ROOT, "docs/guides/desktop.md"), "utf8")) ?? [];
  expect(making).toEqual(expect.arrayContaining(named.trim().split(" ")));
});

it("E2B's desktop SDK uses, and shows to a person, the desktop of the example", { timeout: 180_000 }, async ({ skip }) => {
  skip(chromium === undefined, "there is no chromium (apt-get install chromium)");
  await using lab = await openE2bLab({ argv: ["--tls-domain", DOMAIN] });
  const { port } = new URL(lab.url);
  using _trust = trustHere(readFileSync(join(lab.cli.home, "tls", DOMAIN, "ca.pem"), "utf8"));
  const options = { apiKey: lab.key, domain: `${DOMAIN}:${port}` };
  await expect(Sandbox.create(options)).rejects.toThrow(/404: .*examples\/templates\/desktop.*belljar template share desktop/);
  await using _template = await makeTemplate(lab);
  const sandbox = await Sandbox.create({ ...options, resolution: [...SIZE] });
  await using _killed = { [Symbol.asyncDispose]: async () => void (await sandbox.kill()) };
  const { noted: desktop, called } = noting(sandbox);
  const { noted: stream, called: calledOfStream } = noting(sandbox.stream);
  const run = async (command: string): Promise<string> => (await sandbox.commands.run(command)).stdout;

  // A program, which keeps what it is sent.
  const entry = "[Desktop Entry]\nType=Application\nName=Recorder\nExec=xterm -geometry 80x24+0+0 -title Recorder -e sh /tmp/record.sh\n";
  await sandbox.files.write("/home/user/.local/share/applications/recorder.desktop", entry);
  await sandbox.files.write("/tmp/record.sh", RECORD);
  await desktop.launch("recorder");
  await run(`until ${RECORDS} && [ "$(xdotool getwindowfocus getwindowname)" = Recorder ]; do sleep 0.05; done`);
  const window = await desktop.getCurrentWindowId();
  expect(await desktop.getApplicationWindows("xterm")).toEqual([window]);
  expect(await desktop.getWindowTitle(window)).toBe("Recorder");

  // Mouse and keyboard.
  expect(await desktop.getScreenSize()).toEqual({ width: SIZE[0], height: SIZE[1] });
  await desktop.moveMouse(120, 130);
  expect(await desktop.getCursorPosition()).toEqual({ x: 120, y: 130 });
  await desktop.leftClick(100, 100);
  await desktop.doubleClick();
  await desktop.rightClick(110, 100);
  await desktop.middleClick();
  await desktop.scroll("up", 2);
  await desktop.scroll("down");
  await desktop.drag([100, 100], [200, 150]);
  expect(await desktop.getCursorPosition()).toEqual({ x: 200, y: 150 });
  await desktop.mousePress("right");
  await desktop.mouseRelease("right");
  await desktop.write(`it's "$HOME" \`1\` \\`, { chunkSize: 25, delayInMs: 1 });
  await desktop.press("Enter");
  await desktop.press(["ctrl", "c"]);
  const recorded = await run("until cat -v /tmp/recorded | grep -qF '^C'; do sleep 0.05; done; cat -v /tmp/recorded");
  const clicks = [...click(0), ...click(0), ...click(0), ...click(2), ...click(1), "64M", "64M", "65M", ...click(0), ...click(2)];
  expect(buttonsOf(recorded)).toEqual(clicks);
  expect(recorded).toMatch(/it's "\$HOME" `1` \\\^M\^C$/);

  // The browser.
  for (const name of ["launched", "opened"]) await sandbox.files.write(`/tmp/${name}.html`, `<title>Is ${name}</title>`);
  const isShown = (title: string) => run(`until xdotool search --onlyvisible --name '${title}'; do sleep 0.05; done`);
  await desktop.launch("google-chrome", "file:///tmp/launched.html");
  await isShown("Is launched");
  expect(await desktop.getApplicationWindows("google-chrome")).toHaveLength(1);
  await desktop.open("/tmp/opened.html");
  await isShown("Is opened");
  const png = Buffer.from(await desktop.screenshot());
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual(SIZE);

  // The way to be watched: with a password, by a browser over TLS.
  await stream.start({ requireAuth: true });
  await expect(stream.start()).rejects.toThrow("already running");
  const host = `6080-${sandbox.sandboxId}.${DOMAIN}:${port}`;
  const url = stream.getUrl({ authKey: stream.getAuthKey() });
  expect(url).toMatch(new RegExp(`^https://${host}/vnc.html\\?`));
  {
    await using page = await openPage(chromium ?? "", url, ["--ignore-certificate-errors"]);
    const shows = "document.documentElement.classList.contains('noVNC_connected')";
    await page.until(`${shows} && document.querySelector('canvas')?.width === ${SIZE[0]}`);
  }
  const asked = { host: `6080-${sandbox.sandboxId}.localhost:${port}` };
  const socket = `ws://127.0.0.1:${port}/websockify`;
  await expect(watchRfb(socket, asked)).rejects.toThrow(/^closed with/);
  await stream.stop();
  await expect(watchRfb(socket, asked)).rejects.toThrow("502");

  // Without a password whoever knows the address uses it.
  await run("while pgrep -x x11vnc; do sleep 0.05; done");
  await stream.start({ requireAuth: false });
  expect(() => stream.getAuthKey()).toThrow("requireAuth");
  using watcher = await watchRfb(socket, asked);
  expect(watcher.size).toEqual(SIZE);
  watcher.move(50, 60);
  await run("until xdotool getmouselocation | grep -q '^x:50 y:60 '; do sleep 0.05; done");
  await stream.stop();

  expect([...publicNames(sandbox, INNER)].filter((name) => !called.has(name))).toEqual([]);
  expect([...publicNames(sandbox.stream, INNER_OF_STREAM)].filter((name) => !calledOfStream.has(name))).toEqual([]);
});
