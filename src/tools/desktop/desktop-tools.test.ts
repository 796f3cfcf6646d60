import { expect, it } from "vitest";
import { toolTokens } from "../../catalog/tool-tokens.ts";
import { isDefaultTool } from "../toolsets.ts";
import { toDesktopLinks } from "./desktop-links.ts";
import { desktopTools } from "./desktop-tools.ts";

const TOKENS_MAX = 1_600;
const tools = desktopTools(undefined);

async function parse(name: string, args: object): Promise<unknown> {
  const tool = tools.find((one) => one.name === name);
  const parsed = await tool?.input.parse(args);
  return parsed && "value" in parsed ? parsed.value : parsed;
}

it("costs a context that lists it little, and no other context anything", () => {
  expect(tools.reduce((sum, tool) => sum + toolTokens(tool), 0)).toBeLessThanOrEqual(TOKENS_MAX);
  expect(tools.filter(isDefaultTool)).toEqual([]);
});

it.each([
  ["computer_click", { x: 1, y: 2, button: "wheel" }, { coordinate: [1, 2], button: "middle" }],
  ["computer_click", { coordinate: { x: 1, y: 2 }, keys: ["CTRL", "SHIFT"] }, { coordinate: [1, 2], text: "CTRL+SHIFT" }],
  ["computer_key", { keys: ["CTRL", "A"] }, { text: "CTRL+A" }],
  ["computer_key", { key: "Return" }, { text: "Return" }],
  ["computer_scroll", { x: 1, y: 2, scroll_x: 0, scroll_y: 240 }, { coordinate: [1, 2], scroll_direction: "down", scroll_amount: 5 }],
  ["computer_scroll", { scroll_x: -9, scroll_y: 0 }, { scroll_direction: "left", scroll_amount: 1 }],
  ["computer_scroll", { scroll_y: 1e9 }, { scroll_direction: "down", scroll_amount: 50 }],
  ["computer_scroll", { direction: "up", amount: 2 }, { scroll_direction: "up", scroll_amount: 2 }],
  ["computer_drag", { path: [{ x: 1, y: 2 }, [3, 4], { x: 5, y: 6 }] }, { start_coordinate: [1, 2], via: [[3, 4]], coordinate: [5, 6] }],
  ["computer_cursor", { x: 1, y: 2 }, { coordinate: [1, 2] }],
])("takes what models send to %s: %j", async (name, args, expected) => {
  expect(await parse(name, args)).toEqual(expected);
});

it.each([
  ["computer_click", { coordinate: [1, 2], x: 3, y: 4 }],
  ["computer_click", { x: 5 }],
  ["computer_key", { keys: [{ toString: 1 }] }],
  ["computer_click", { coordinate: [-1, 2] }],
  ["computer_click", { coordinate: [1.5, 2] }],
  ["computer_click", { coordinate: ["1", null] }],
  ["computer_click", { clicks: 4 }],
  ["computer_drag", { path: [{ x: 1, y: 2 }] }],
  ["computer_scroll", { scroll_direction: "down", scroll_amount: 51 }],
  ["computer_type", { text: "x".repeat(4_001) }],
  ["computer_key", { text: "a", duration: 11 }],
  ["desktop_start", { width: 639 }],
])("refuses %s (%#)", async (name, args) => {
  const tool = tools.find((one) => one.name === name);
  expect(await tool?.input.parse(args)).not.toHaveProperty("value");
});

it("leads a page to its WebSocket in both styles", () => {
  const [url, pathUrl] = ["http://6981-id.localhost:1/?belljar_token=T", "http://127.0.0.1:1/ports/id/6981/?belljar_token=T"];
  const links = toDesktopLinks({ url, pathUrl }, { key: "K", isViewOnly: true });
  const [host, path] = [new URL(links.url), new URL(links.pathUrl)];
  expect([host.pathname, path.pathname]).toEqual(["/vnc.html", "/ports/id/6981/vnc_lite.html"]);
  const read = ({ searchParams }: URL) => ["belljar_token", "view_only", "path"].map((name) => searchParams.get(name));
  expect(read(host)).toEqual(["T", "true", "websockify?key=K"]);
  expect(read(path)).toEqual(["T", "true", "ports/id/6981/~T/websockify?key=K"]);
});
