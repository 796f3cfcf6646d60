import { afterAll, beforeAll, describe, expect } from "vitest";
import { type DesktopLab, openDesktopLab, toSocket } from "../support/desktop-lab.ts";
import { watchRfb } from "../support/rfb-watcher.ts";
import { verifies } from "./verifies.ts";

const LETTER_V = 0x76;
const LETTER_C = 0x63;
const LEFT = 1;
/** What clients of several extensions send. */
const OTHER_MESSAGES = [
  [250, 0, 1, 2], // xvp: shut down
  [251, 0, 3, 32, 2, 88, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 3, 32, 2, 88, 0, 0, 0, 0], // SetDesktopSize to 800x600
  [255, 0, 0, 1, 0, 0, 0, LETTER_V, 0, 0, 0, 47], // a key of QEMU's
  [6, 0, 0, 0, 255, 255, 255, 240, 16, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0], // the extended clipboard
  [8, 2, 0, 0], // a scale
  [9, 1, 0, 0], // UltraVNC: the screen's own keyboard is off
  [10, 0, 0, 9, 0, 9], // one window alone
  [11, 0, 0, 0, 255, 255, 255, 255], // a chat
  [7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 47], // files
] as const;

function without(url: string, name: string): string {
  const less = new URL(url);
  less.searchParams.delete(name);
  return less.href;
}

describe("a desktop's links", () => {
  let lab: DesktopLab;
  beforeAll(async () => {
    lab = await openDesktopLab();
    await lab.start();
    await lab.openRecorder();
  }, 60_000);
  afterAll(() => lab[Symbol.asyncDispose](), 60_000);

  verifies(
    "desktop-view-only-views",
    async () => {
      const { view_url: viewUrl, control_url: controlUrl } = await lab.start();
      const [view, control] = [toSocket(viewUrl), toSocket(controlUrl)];
      await lab.use("computer_cursor", { coordinate: [700, 700] });
      using viewer = await watchRfb(view.url, view.headers);
      expect(viewer.size).toEqual([1024, 768]);
      viewer.move(200, 200);
      viewer.move(200, 200, LEFT);
      viewer.move(200, 200);
      viewer.press(LETTER_V);
      viewer.cutText("from the viewer");
      await viewer.settled();
      await lab.use("computer_click", { coordinate: [200, 200], button: "middle", text: "shift" });
      await lab.use("computer_type", { text: "!" });
      expect(await lab.recorded("!")).not.toMatch(/v|\[<0;/);
      await lab.use("computer_cursor", { coordinate: [700, 700] });
      expect((await lab.use("computer_cursor")).text).toBe("X=700,Y=700");
      // Nor does any other message, such as those that end the desktop or change its size: whoever sends it loses the connection at most.
      for (const message of OTHER_MESSAGES) {
        using other = await watchRfb(view.url, view.headers);
        other.send(message);
        await Promise.allSettled([other.settled()]);
      }
      expect(await lab.start()).toMatchObject({ started: false, view_url: viewUrl });
      expect(await lab.command("DISPLAY=:99 xdotool getdisplaygeometry getmouselocation")).toMatch(/^1024 768\nx:700 y:700 /);
      // The same by the other link.
      using controller = await watchRfb(control.url, control.headers);
      controller.move(200, 200);
      controller.move(200, 200, LEFT);
      controller.move(200, 200);
      controller.press(LETTER_C);
      const recorded = await lab.recorded("c");
      expect(recorded).toMatch(/\[<0;\d+;\d+M/);
      expect(recorded).not.toContain("v");
      expect((await lab.use("computer_cursor")).text).toBe("X=200,Y=200");
      // The terminal pastes what was selected last.
      controller.cutText("from the controller");
      await controller.settled();
      await lab.use("computer_click", { coordinate: [200, 200], button: "middle", text: "shift" });
      expect(await lab.recorded("from the controller")).not.toContain("viewer");
    },
    60_000,
  );

  verifies(
    "desktop-needs-its-link",
    async () => {
      const { view_url: viewUrl, control_url: controlUrl } = await lab.start();
      const [view, control] = [toSocket(viewUrl), toSocket(controlUrl)];
      using allowed = await watchRfb(control.url, control.headers);
      expect(allowed.size).toEqual([1024, 768]);
      const refused = (url: string, headers: Readonly<Record<string, string>> = control.headers) => expect(watchRfb(url, headers)).rejects;
      await refused(without(control.url, "belljar_token")).toThrow("401");
      await refused(without(control.url, "key")).toThrow("403");
      // Those of the other link open nothing here.
      const own = (name: string): string => new URL(view.url).searchParams.get(name) ?? "";
      for (const [name, status] of [
        ["belljar_token", "401"],
        ["key", "403"],
      ] as const) {
        const mixed = new URL(control.url);
        mixed.searchParams.set(name, own(name));
        await refused(mixed.href).toThrow(status);
      }
      // A cookie of the link does not open it to a page of another site.
      const cookie = `belljar-port=${new URL(control.url).searchParams.get("belljar_token")}`;
      const byCookie = without(control.url, "belljar_token");
      using ofPage = await watchRfb(byCookie, { ...control.headers, cookie, origin: `http://${control.headers["host"]}` });
      expect(ofPage.size).toEqual([1024, 768]);
      await refused(byCookie, { ...control.headers, cookie, origin: "http://other.localhost:1" }).toThrow("401");
    },
    60_000,
  );

  verifies(
    "desktop-stays-inside",
    async () => {
      const { view_url: viewUrl, control_url: controlUrl } = await lab.start();
      const [view, control] = [toSocket(viewUrl), toSocket(controlUrl)];
      using viewer = await watchRfb(view.url, view.headers);
      using controller = await watchRfb(control.url, control.headers);
      await Promise.all([viewer.settled(), controller.settled()]);
      const listening = await lab.command(
        "awk '$4 == \"0A\" { print $2 }' /proc/net/tcp /proc/net/tcp6; until [ $(pgrep -c x11vnc) = 2 ]; do sleep 0.05; done",
      );
      const addresses = [...listening.matchAll(/^([0-9A-F]+):([0-9A-F]{4})$/gm)];
      expect(addresses.map(([, , port = ""]) => Number.parseInt(port, 16))).toEqual(expect.arrayContaining([6981, 6982]));
      expect(new Set(addresses.map(([, address]) => address))).toEqual(new Set(["0100007F"]));
      // A page that a browser inside shows may open a WebSocket to any port of loopback, but knows no key.
      const key = new URL(control.url).searchParams.get("key") ?? "";
      const open = (query: string): string =>
        `curl -s -o /dev/null -w '%{http_code} ' --max-time 2 -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==' -H 'Origin: http://evil.test' 'http://127.0.0.1:6982/websockify${query}';`;
      expect(await lab.command([open(`?key=${key}`), open(""), open("?key=x")].join(" "))).toMatch(/^101 403 403 /);
    },
    60_000,
  );
});
