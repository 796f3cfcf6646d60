import * as z from "zod";
import { textResult } from "../../catalog/tool-result.ts";
import { acceptClick, acceptDrag, acceptPoints, acceptScroll, Coordinate, MODIFIERS, type Point } from "./computer-arguments.ts";
import { computerTool } from "./computer-tool.ts";
import { BelljarError } from "../../errors.ts";
import { parseModifiers } from "./key-names.ts";
import { assertInside, type OpenDisplay } from "./on-display.ts";

/** X's numbers. */
const BUTTONS = { left: "1", middle: "2", right: "3", back: "8", forward: "9" } as const;
const WHEEL = { up: "4", down: "5", left: "6", right: "7" } as const;
const CLICKS_MAX = 3;
/** Below what makes two clicks a double click anywhere. */
const CLICK_DELAY_MS = "40";
const STEPS_MAX = 50;
const STEP_DELAY_MS = "10";
const VIA_MAX = 100;
/** Between two points of a drag: programs follow a mouse that moves, not one that jumps. */
const DRAG_STEPS = 10;
const DRAG_STEP_SECONDS = "0.01";
const DRAG_TIMEOUT_MS = 45_000;

const HERE = "Default: where the cursor is";

export const computerClick = computerTool({
  name: "computer_click",
  title: "Click on the desktop",
  description: "Clicks at a point [x, y] of the desktop, once, twice or three times.",
  accept: acceptClick,
  fields: {
    coordinate: Coordinate.optional().describe(HERE),
    button: z.enum(["left", "right", "middle", "back", "forward"]).optional().describe("Default left"),
    clicks: z.number().int().min(1).max(CLICKS_MAX).optional().describe("Default 1"),
    text: MODIFIERS,
  },
  async run(display, { coordinate, button = "left", clicks = 1, text }) {
    const click = ["click", "--repeat", String(clicks), "--delay", CLICK_DELAY_MS, BUTTONS[button]];
    const releases = ["mouseup", BUTTONS[button], ...releaseKeys(text)];
    await display.act([...moveTo(display, coordinate), ...held(text, click)], { releases });
    return textResult(`Clicked ${button}${clicks > 1 ? ` ${clicks} times` : ""} ${at(coordinate)}`);
  },
});

export const computerScroll = computerTool({
  name: "computer_scroll",
  title: "Scroll on the desktop",
  description: "Turns the mouse wheel over a point. scroll_amount counts its steps, of about three lines each.",
  accept: acceptScroll,
  fields: {
    coordinate: Coordinate.optional().describe(HERE),
    scroll_direction: z.enum(["up", "down", "left", "right"]),
    scroll_amount: z.number().int().min(1).max(STEPS_MAX).optional().describe("Default 3"),
    text: MODIFIERS,
  },
  async run(display, { coordinate, scroll_direction: direction, scroll_amount: amount = 3, text }) {
    const turn = ["click", "--repeat", String(amount), "--delay", STEP_DELAY_MS, WHEEL[direction]];
    await display.act([...moveTo(display, coordinate), ...held(text, turn)], { releases: releaseKeys(text) });
    return textResult(`Scrolled ${direction} by ${amount} ${at(coordinate)}`);
  },
});

export const computerDrag = computerTool({
  name: "computer_drag",
  title: "Drag on the desktop",
  description: "Presses the left button at start_coordinate, moves to coordinate, and releases it.",
  accept: acceptDrag,
  fields: {
    start_coordinate: Coordinate.optional().describe(HERE),
    coordinate: Coordinate,
    via: z.array(Coordinate).max(VIA_MAX).optional().describe("Points between the two"),
    text: MODIFIERS,
  },
  async run(display, { start_coordinate: given, coordinate, via = [], text }) {
    const start = given ?? (await findCursor(display));
    const points = [start, ...via, coordinate];
    assertInside(display, points);
    const moves = points.slice(1).flatMap((to, index) => steps(points[index] ?? start, to));
    const drag = ["mousedown", BUTTONS.left, ...moves, "sleep", DRAG_STEP_SECONDS, "mouseup", BUTTONS.left];
    const releases = ["mouseup", BUTTONS.left, ...releaseKeys(text)];
    await display.act([...move(start), ...held(text, drag)], { timeoutMs: DRAG_TIMEOUT_MS, releases });
    return textResult(`Dragged from ${start.join(", ")} to ${coordinate.join(", ")}`);
  },
});

export const computerCursor = computerTool({
  name: "computer_cursor",
  title: "Move or find the cursor",
  description: "Moves the cursor to a point, if one is given, and says where it is.",
  accept: acceptPoints,
  fields: { coordinate: Coordinate.optional() },
  value: z.object({ x: z.number().int(), y: z.number().int() }),
  async run(display, { coordinate }) {
    if (coordinate) await display.act(moveTo(display, coordinate));
    const [x, y] = await findCursor(display);
    return textResult({ x, y }, `X=${x},Y=${y}`);
  },
});

async function findCursor(display: OpenDisplay): Promise<Point> {
  const [, x, y] = /^x:(\d{1,5}) y:(\d{1,5}) /.exec(await display.act(["getmouselocation"])) ?? [];
  if (x !== undefined && y !== undefined) return [Number(x), Number(y)];
  throw new BelljarError("ACTION_FAILED", "xdotool did not say where the cursor is; take a screenshot, which shows it");
}

function moveTo(display: OpenDisplay, point: Point | undefined): readonly string[] {
  if (!point) return [];
  assertInside(display, [point]);
  return move(point);
}

function move([x, y]: Point): readonly string[] {
  return ["mousemove", String(x), String(y)];
}

function steps([x, y]: Point, [toX, toY]: Point): readonly string[] {
  return Array.from({ length: DRAG_STEPS }, (_, index) => {
    const part = (index + 1) / DRAG_STEPS;
    const next: Point = [Math.round(x + (toX - x) * part), Math.round(y + (toY - y) * part)];
    return ["sleep", DRAG_STEP_SECONDS, ...move(next)];
  }).flat();
}

/** One run of xdotool, for a key that stays down between two would be repeated. */
function held(keys: string | undefined, act: readonly string[]): readonly string[] {
  if (keys === undefined) return act;
  return [...parseModifiers(keys).flatMap((name) => ["keydown", name]), ...act, ...releaseKeys(keys)];
}

function releaseKeys(keys: string | undefined): readonly string[] {
  return keys === undefined ? [] : parseModifiers(keys).flatMap((name) => ["keyup", name]);
}

function at(point: Point | undefined): string {
  return point ? `at ${point.join(", ")}` : "where the cursor is";
}
