import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findChromium, openPage } from "../support/chromium.ts";
import { type DesktopLab, openDesktopLab, toSocket } from "../support/desktop-lab.ts";
import { watchRfb } from "../support/rfb-watcher.ts";

const HAS_EXTENDED_MODE = /\^\[\[<\d+;\d+;\d+[Mm]/;
const LACKS_CHROMIUM = "there is no chromium (apt-get install chromium)";

const KEYS = `
import ctypes, sys, time
x = ctypes.CDLL("libX11.so.6")
x.XOpenDisplay.restype = ctypes.c_void_p
display, keys = ctypes.c_void_p(x.XOpenDisplay(None)), ctypes.create_string_buffer(32)
while x.XQueryKeymap(display, keys) and any(keys.raw) != (sys.argv[1] == "down"):
    time.sleep(0.02)
print(sys.argv[1])
`;

/** Of a picture in PNG. */
const sizeOf = (png: Buffer): readonly number[] => [png.readUInt32BE(16), png.readUInt32BE(20)];
/** The mouse as xterm tells of it, without where it was: the button with what is held, and whether it went down or up. */
const buttonsOf = (recorded: string): readonly string[] =>
  [...recorded.matchAll(/\^\[\[<(\d+);\d+;\d+([Mm])/g)].map(([, button, way]) => `${button}${way}`);

describe("a desktop that a model uses over MCP", () => {
  let lab: DesktopLab;
  beforeAll(async () => void (lab = await openDesktopLab()), 60_000);
  afterAll(() => lab[Symbol.asyncDispose](), 60_000);

  const recordedSince = async (before: string, text: string): Promise<string> => (await lab.recorded(text)).slice(before.length);
  /** Waits for X's keyboard to have a key down, or none. */
  const untilKeys = (how: "up" | "down"): Promise<string> => lab.command(`DISPLAY=:99 timeout 8 python3 -c '${KEYS}' ${how}`);
  const now = (): Promise<string> => lab.command("cat -v /tmp/recorded");

  it("says what to call first, starts once for several callers, and keeps its size", async () => {
    expect(await lab.use("computer_screenshot")).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^DESKTOP_UNAVAILABLE.*desktop_start/m),
    });
    const made = await Promise.all([lab.start({ width: 800, height: 600 }), lab.start({ width: 800, height: 600 })]);
    expect(made.filter(({ started }) => started)).toHaveLength(1);
    expect(made[0]).toMatchObject({
      display: ":99",
      width: 800,
      height: 600,
      view_url: made[1].view_url,
      control_url: made[1].control_url,
    });
    expect(await lab.start()).toMatchObject({ started: false, width: 800, height: 600 });
    expect((await lab.use("desktop_start", { width: 8_000 })).text).toMatch(/^ARGUMENTS_INVALID/);
    expect(await lab.start({ restart: true })).toMatchObject({ started: true, width: 1024, height: 768 });
    const { picture = Buffer.alloc(0), text } = await lab.use("computer_screenshot");
    expect([sizeOf(picture), text]).toEqual([[1024, 768], "[The desktop has 1024x768 pixels]"]);
  }, 60_000);

  it("clicks, scrolls, drags and types as it was told, in the forms of several models", async () => {
    await lab.openRecorder();
    await lab.use("computer_click", { coordinate: [200, 200] });
    expect(buttonsOf(await lab.recorded("m"))).toEqual(expect.arrayContaining(["0M", "0m"]));
    const acts = [
      ["computer_click", { x: 210, y: 200, button: "right" }, ["2M", "2m"]],
      ["computer_click", { coordinate: [200, 200], clicks: 3 }, ["0M", "0m", "0M", "0m", "0M", "0m"]],
      ["computer_click", { button: "wheel" }, ["1M", "1m"]],
      ["computer_scroll", { scroll_direction: "up", scroll_amount: 1, text: "ctrl" }, ["80M"]],
      ["computer_scroll", { coordinate: [200, 210], scroll_direction: "down", scroll_amount: 2 }, ["65M", "65M"]],
      ["computer_scroll", { x: 200, y: 200, scroll_x: 0, scroll_y: -150 }, ["64M", "64M", "64M"]],
    ] as const;
    for (const [number, [name, args, expected]] of acts.entries()) {
      const before = await now();
      expect(await lab.use(name, args)).toMatchObject({ isError: false });
      // Keys behind it that nothing before had, so that all of it has come.
      await lab.use("computer_type", { text: `;act${number}.` });
      const told = buttonsOf(await recordedSince(before, `;act${number}.`)).filter((one) => !/^(35|5\d)M/.test(one));
      expect(told, JSON.stringify(args)).toEqual(expected);
    }
    const before = await now();
    await lab.use("computer_drag", {
      path: [
        { x: 100, y: 100 },
        { x: 150, y: 150 },
        { x: 100, y: 200 },
      ],
    });
    await lab.use("computer_key", { text: "Return Page_Down ctrl+C" });
    await lab.use("computer_key", { keys: ["CTRL", "ALT", "a"] });
    await lab.use("computer_type", { text: "-x ''\nend" });
    const typed = await recordedSince(before, "end");
    expect(buttonsOf(typed)).toEqual(expect.arrayContaining(["0M", "32M", "0m"]));
    expect(typed.replaceAll(/\^\[\[<[\d;]+[Mm]/g, "")).toBe("^M^[[6~^CM-BM-^A-x ''^Mend");
    expect(await lab.use("computer_cursor", { coordinate: [300, 301] })).toMatchObject({ text: "X=300,Y=301" });
    expect(typed).toMatch(HAS_EXTENDED_MODE);
  }, 60_000);

  it.each([
    ["computer_type", { text: "é".repeat(501) }, /^ARGUMENTS_INVALID: At most 500 characters that no key has .* the text has 501/],
    ["computer_click", { coordinate: [1024, 10] }, /^ARGUMENTS_INVALID: The point 1024, 10 is not on the display, which has 1024x768/],
    ["computer_drag", { start_coordinate: [1, 1], coordinate: [1, 768] }, /^ARGUMENTS_INVALID: The point/],
    ["computer_click", { coordinate: [10, 10], text: "a" }, /^ARGUMENTS_INVALID: "a" cannot be held/],
    ["computer_key", { text: "NoSuchKey" }, /^ACTION_FAILED: .*NoSuchKey/],
    ["computer_key", { text: "$(id)" }, /^ARGUMENTS_INVALID/],
    ["computer_key", { text: "a b", repeat: 100, duration: 1 }, /^ARGUMENTS_INVALID: One call holds keys for 10 seconds/],
    ["computer_key", { text: "a b c d e", repeat: 100 }, /^ARGUMENTS_INVALID: 500 keys/],
    // xdotool would run it.
    ["computer_key", { text: "a exec ls" }, /^ACTION_FAILED: .*No such key name 'exec'/],
  ])("refuses %s %j", async (name, args, problem) => {
    expect(await lab.use(name, args)).toMatchObject({ isError: true, text: expect.stringMatching(problem) });
  });

  it("types a character that no key has, to a program that looks the key up in time", async () => {
    const before = await now();
    let typed = "";
    // A busy program may come too late, so it is given some tries.
    for (let tries = 1; !typed.includes("'M-CM-)'") && tries < 20; tries++) {
      await lab.use("computer_type", { text: `'é';try${tries}` });
      typed = await recordedSince(before, `;try${tries}`);
    }
    expect(typed).toContain("'M-CM-)'");
  }, 60_000);

  it("does what two callers ask at once one after the other", async () => {
    const before = await now();
    const [ones, twos] = ["1".repeat(60), "2".repeat(60)];
    await Promise.all([ones, twos].map((text) => lab.use("computer_type", { text })));
    await lab.use("computer_type", { text: ";both" });
    expect([`${ones}${twos};both`, `${twos}${ones};both`]).toContain(await recordedSince(before, ";both"));
  }, 60_000);

  it("leaves no key down when its caller goes", async () => {
    await lab.use("computer_key", { text: "Help" });
    const gone = new AbortController();
    const held = Promise.allSettled([lab.use("computer_key", { text: "q", duration: 10 }, gone.signal)]);
    expect(await untilKeys("down")).toBe("down");
    gone.abort();
    await held;
    expect(await untilKeys("up")).toBe("up");
  }, 60_000);

  it("is shown and used in a page of noVNC, by both styles of its links", async ({ skip }) => {
    const chromium = findChromium();
    if (chromium === undefined) return skip(LACKS_CHROMIUM);
    const { control_url: byHost, path_urls: byPath } = await lab.start();
    for (const [url, shows] of [
      [byHost, "document.documentElement.classList.contains('noVNC_connected')"],
      [byPath.control, "document.querySelector('#status').textContent.startsWith('Connected')"],
    ] as const) {
      await using page = await openPage(chromium, url);
      await page.until(`${shows} && document.querySelector('canvas')?.width === 1024`);
      expect(String(await page.evaluate("location.href"))).not.toContain("belljar_token");
    }
  }, 60_000);

  it("says what is missing where its programs are", async () => {
    // The first of a path that has no program but the one that starts it.
    await lab.command("mkdir -p /tmp/bin && ln -sf $(command -v python3) /tmp/bin/python3");
    const answer = await lab.command("echo '{}' | PATH=/tmp/bin /tmp/bin/python3 /opt/belljar/kernels/desktop.py");
    expect(answer).toContain('{"missing": ["xvfb", "openbox", "x11vnc", "xdotool", "scrot"]}');
  });

  it("starts again after a stop, a kill and beside locks that were left", async () => {
    await lab.stop();
    // The process that the lock names lives, and is none of a display's. Nobody listens at the socket that was left.
    const left = await lab.command('ls /tmp/.X11-unix; printf "%10d\\n" 1 > /tmp/.X99-lock');
    expect(left).toContain("X99");
    expect(await lab.use("computer_screenshot")).toMatchObject({ text: expect.stringMatching(/^DESKTOP_UNAVAILABLE/m) });
    expect(await lab.start()).toMatchObject({ started: true });
    expect(await lab.use("computer_screenshot")).toMatchObject({ isError: false });
    // Nobody waits until the rest of it has ended.
    await lab.command("pkill -9 -f [k]ernels/desktop.py");
    const since = await lab.start();
    expect(since).toMatchObject({ started: true });
    // A server of pages holds the port while somebody watches, and a process that stands hears no SIGTERM.
    const { url, headers } = toSocket(since.view_url);
    using watcher = await watchRfb(url, headers);
    expect(watcher.size).toEqual([1024, 768]);
    await lab.command("pkill -STOP -f [k]ernels/desktop.py");
    expect(await lab.start({ restart: true })).toMatchObject({ started: true });
    await lab.command("pkill -9 Xvfb; while pgrep -f [k]ernels/desktop.py; do sleep 0.05; done");
    expect(await lab.use("computer_cursor")).toMatchObject({ text: expect.stringMatching(/^DESKTOP_UNAVAILABLE/m) });
    // A folder that cannot be made is the reason that is told.
    await lab.command("mv .cache .kept; touch .cache");
    expect((await lab.use("desktop_start")).text).toMatch(/^DESKTOP_FAILED: .*\.cache/);
    await lab.command("rm .cache; mv .kept .cache; touch /tmp/mine; ln -s /tmp/mine /tmp/.X99-lock");
    expect(await lab.start()).toMatchObject({ started: true });
    expect(await lab.command("test -f /tmp/mine && test ! -h /tmp/.X99-lock && echo kept")).toBe("kept");
  }, 60_000);

  it("answers who comes after a caller that went in the middle once the desktop is ready", async () => {
    await lab.command("pkill -9 Xvfb; while pgrep -f [k]ernels/desktop.py; do sleep 0.05; done");
    const gone = new AbortController();
    const first = Promise.allSettled([lab.use("desktop_start", {}, gone.signal)]);
    await lab.command("until pkill -STOP -f [k]ernels/desktop.py; do sleep 0.01; done");
    gone.abort();
    await first;
    const second = lab.start().then(async ({ started }) => [started, (await lab.use("computer_screenshot")).text]);
    const told = Promise.allSettled([second]);
    await lab.command("sleep 1; pkill -CONT -f [k]ernels/desktop.py");
    await told;
    expect(await second).toEqual([false, "[The desktop has 1024x768 pixels]"]);
  }, 60_000);
});
