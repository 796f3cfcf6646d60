import type { CommandSpec } from "../command.ts";
import { JSON_OPTION, NONE, ONE } from "./shared-options.ts";

const WHERE = "They are those of all Belljar processes on this home.";

/** `belljar approval ...`: calls of tools that a person must approve. */
export const APPROVAL: readonly CommandSpec[] = [
  {
    name: "approval list",
    summary: "List calls of tools that wait for your approval",
    usage: "",
    positionals: NONE,
    options: { json: JSON_OPTION },
    details: WHERE,
    load: () => import("../commands/approval-list.ts"),
  },
  {
    name: "approval info",
    summary: "Show what one of them is to do",
    usage: "ID",
    positionals: ONE,
    options: { json: JSON_OPTION },
    details: WHERE,
    load: () => import("../commands/approval-info.ts"),
  },
  {
    name: "approval give",
    summary: "Approve one: it may be made once, within ten minutes",
    usage: "ID",
    positionals: ONE,
    options: {},
    details: `${WHERE} The approval holds for exactly this call, with these arguments. Whoever wanted it makes it again.`,
    load: () => import("../commands/approval-give.ts"),
  },
  {
    name: "approval refuse",
    summary: "Have one wait no longer, and take an approval back",
    usage: "ID",
    positionals: ONE,
    options: {},
    details: WHERE,
    load: () => import("../commands/approval-refuse.ts"),
  },
];
