import * as z from "zod";
import type { Accept } from "../../catalog/accept.ts";
import { otherNames } from "../../catalog/accept.ts";
import { SIZE } from "./display.ts";

/** A list of two, for strict hosts take no tuple in a schema. Whether the point lies on the display is known when its size is. */
export const Coordinate = z
  .array(
    z
      .number()
      .int()
      .min(0)
      .max(SIZE.width.max - 1),
  )
  .length(2)
  .transform(([x = 0, y = 0]): Point => [x, y]);
export type Point = readonly [x: number, y: number];

/** What stands in the arguments of every action. */
export const SANDBOX = { sandbox: z.string().min(1).max(64).optional() };
export const MODIFIERS = z.string().min(1).max(40).optional().describe("Keys held meanwhile, as ctrl+shift");

type Arguments = Readonly<Record<string, unknown>>;

/** A wheel's step scrolls about so many pixels. */
const STEP_PIXELS = 50;
const STEPS_MAX = 50;

/** `x` and `y`, points as objects, and lists of keys, as other tools have them. */
export const acceptPoints: Accept = (given) => {
  const named = toTexts(otherNames({ keys: "text", key: "text", modifiers: "text" })(given));
  const { x, y, ...rest } = named;
  const isPoint = x !== undefined && y !== undefined && rest["coordinate"] === undefined;
  return toPairs(isPoint ? { ...rest, coordinate: [x, y] } : named);
};

const BUTTONS: Readonly<Record<string, string>> = { wheel: "middle" };

export const acceptClick: Accept = (given) => {
  const { button, ...rest } = acceptPoints(otherNames({ num_clicks: "clicks", count: "clicks" })(given));
  if (button === undefined) return rest;
  return { ...rest, button: typeof button === "string" ? (BUTTONS[button] ?? button) : button };
};

/** `scroll_x` and `scroll_y` in pixels become steps in the direction of the larger one. */
export const acceptScroll: Accept = (given) => {
  const {
    scroll_x: x = 0,
    scroll_y: y = 0,
    ...rest
  } = acceptPoints(otherNames({ direction: "scroll_direction", amount: "scroll_amount" })(given));
  if (typeof x !== "number" || typeof y !== "number" || (x === 0 && y === 0)) return rest;
  const isVertical = Math.abs(y) >= Math.abs(x);
  const pixels = isVertical ? y : x;
  const [less, more] = isVertical ? ["up", "down"] : ["left", "right"];
  const steps = Math.min(STEPS_MAX, Math.max(1, Math.round(Math.abs(pixels) / STEP_PIXELS)));
  return { scroll_direction: pixels < 0 ? less : more, scroll_amount: steps, ...rest };
};

/** A `path` of points, from the first over the others to the last. */
export const acceptDrag: Accept = (given) => {
  const { path, ...rest } = given;
  if (!Array.isArray(path) || path.length < 2) return acceptPoints(given);
  const points = path.map(toPair);
  return acceptPoints({ ...rest, start_coordinate: points[0], via: points.slice(1, -1), coordinate: points.at(-1) });
};

function toTexts(args: Arguments): Arguments {
  const { text } = args;
  return Array.isArray(text) && text.every((one) => typeof one === "string") ? { ...args, text: text.join("+") } : args;
}

function toPairs(args: Arguments): Arguments {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, name.endsWith("coordinate") ? toPair(value) : value]));
}

function toPair(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const { x, y } = value as { readonly x?: unknown; readonly y?: unknown };
  return [x, y];
}
