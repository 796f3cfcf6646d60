import * as z from "zod";
import { CHANGE_LINE_MAX, CHANGE_LINES_MAX, LISTED_URL_MAX, TITLE_MAX, TREE_CHANGE_MAX, URL_MAX } from "./change-limits.ts";

const PATH_MAX = 4_096;

const Dialog = z.object({
  kind: z.enum(["alert", "confirm", "prompt", "beforeunload"]),
  message: z.string().max(CHANGE_LINE_MAX),
  /** What a prompt proposes. */
  proposed: z.string().max(CHANGE_LINE_MAX).optional(),
});
export type DialogFacts = z.infer<typeof Dialog>;

const Download = z.object({
  name: z.string().max(PATH_MAX),
  url: z.string().max(LISTED_URL_MAX),
  state: z.enum(["running", "done", "failed"]),
  /** Where it lies in the sandbox. */
  path: z.string().max(PATH_MAX).optional(),
  /** Why it failed. */
  problem: z.string().max(CHANGE_LINE_MAX).optional(),
});
export type DownloadFacts = z.infer<typeof Download>;

const Lines = z.array(z.string().max(CHANGE_LINE_MAX)).max(CHANGE_LINES_MAX);

/** What an action changed: answered in the place of the page, which may be long. */
export const Change = z.object({
  url: z.string().max(URL_MAX),
  title: z.string().max(TITLE_MAX),
  /** The tab has another document than before. */
  navigated: z.boolean(),
  /** The document is not whole yet. */
  loading: z.boolean(),
  /** It is open now, and holds the page until it is answered. */
  dialog: Dialog.optional(),
  /** Those that were closed meanwhile. */
  dialogs: z.array(Dialog).max(CHANGE_LINES_MAX),
  downloads: z.array(Download).max(CHANGE_LINES_MAX),
  /** Tabs that the page opened, by their places in the list of tabs. */
  opened: z
    .array(z.object({ index: z.number().int().min(0).max(CHANGE_LINES_MAX), url: z.string().max(LISTED_URL_MAX) }))
    .max(CHANGE_LINES_MAX),
  /** Errors of the page's scripts, and those that it wrote to the console. */
  errors: Lines,
  /** Requests that failed, with the reason. */
  failures: Lines,
  /** How the tree of the page differs from before; absent if it has another document, a dialog holds it, or it was too slow. */
  tree: z
    .string()
    .max(TREE_CHANGE_MAX + CHANGE_LINE_MAX)
    .optional(),
});
export type ChangeFacts = z.infer<typeof Change>;
