import * as z from "zod";
import { defineAction } from "./action.ts";
import { TITLE_MAX, URL_MAX } from "./change-limits.ts";
import { ELEMENT_FIELDS } from "./fields.ts";

const SIDE_MAX = 8_000;
const MARKS_MAX = 500;
const NAME_MAX = 200;

export const SCREENSHOT_FIELDS = {
  ...ELEMENT_FIELDS,
  full_page: z.boolean().optional(),
  marks: z.boolean().optional().describe("Number what can be acted on, and list it"),
  format: z.enum(["jpeg", "png"]).optional().describe("Default jpeg"),
  max_width: z.number().int().min(16).max(SIDE_MAX).optional().describe("Default 1280"),
  max_height: z.number().int().min(16).max(SIDE_MAX).optional().describe("Default 720, of a whole page 4000"),
};

const Args = z.object(SCREENSHOT_FIELDS);
export type ScreenshotArgs = z.infer<typeof Args>;

const Mark = z.object({
  number: z.number().int().min(0).max(MARKS_MAX),
  ref: z.string().max(20),
  role: z.string().max(NAME_MAX),
  name: z.string().max(NAME_MAX),
  /** Its middle, in pixels of the viewport. */
  x: z.number(),
  y: z.number(),
});
export type MarkFacts = z.infer<typeof Mark>;

const Value = z.object({
  url: z.string().max(URL_MAX),
  title: z.string().max(TITLE_MAX),
  /** Of the picture, in pixels. */
  width: z.number().int().min(0).max(SIDE_MAX),
  height: z.number().int().min(0).max(SIDE_MAX),
  /** Pixels of the picture for one of the page. */
  scale: z.number().min(0).max(10),
  /** The page is longer. */
  cut: z.boolean(),
  marks: z.array(Mark).max(MARKS_MAX),
});
export type ScreenshotValue = z.infer<typeof Value>;

export const SCREENSHOT = defineAction({ name: "screenshot", args: Args, value: Value });
