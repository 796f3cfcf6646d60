import * as z from "zod";
import type { Tool, ToolContext, TextResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import type { Texts } from "../../text/texts.ts";
import { acceptEdit } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import type { FileChanger } from "./file-changer.ts";
import { changeFile, UNDO_PROBLEM, undoField, undoText } from "./file-changer.ts";
import { readEditable } from "./file-state.ts";
import { diffText, showDiff } from "./show-diff.ts";

const EDITS_MAX = 200;
const TEXT_MAX = 1_048_576;

const Edit = z
  .strictObject({
    old_string: z
      .string()
      .min(1, "must not be empty; write_file makes a new file, and text is added by replacing a line with itself and more")
      .max(TEXT_MAX)
      .describe("Exact text of the file, without line numbers. Must occur once, unless replace_all"),
    new_string: z.string().max(TEXT_MAX).describe("What to put there; empty removes the text"),
    replace_all: z.boolean().optional().describe("Replace every occurrence"),
  })
  .refine((edit) => edit.old_string !== edit.new_string, { path: ["new_string"], message: "is the same as old_string" });

const Input = z.strictObject({
  path: pathArgument("Text file to edit"),
  edits: z.array(Edit).min(1).max(EDITS_MAX).describe("Made in this order, each in what the ones before it made; all of them or none"),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const Output = z.object({
  path: z.string(),
  replacements: z.number().int(),
  size: z.number().int().describe("Bytes of the file now"),
  diff: z.string().describe("Unified diff of the change"),
  truncated: z.boolean().describe("The diff is cut"),
  undo_problem: UNDO_PROBLEM,
});

type Arguments = z.output<typeof Input>;

export function createEditFile(changer: FileChanger, texts: Texts): Tool {
  return defineTool({
    name: "edit_file",
    title: "Edit a file",
    description: [
      "Replaces exact texts in a file of your sandbox; the rest of it, its line ends and its permissions stay. Answers with a diff.",
      "Several edits are made at once, all or none. A text that is not there, or is there more than once, changes nothing, and the failure",
      "shows the nearest text or the lines of each occurrence. undo_edit takes the change back.",
    ].join("\n"),
    toolset: "files",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    accept: acceptEdit,
    input: Input,
    value: Output,
    run: (context, args) => editFile(context, args, { changer, texts }),
  });
}

interface Means {
  readonly changer: FileChanger;
  readonly texts: Texts;
}

async function editFile(context: ToolContext, args: Arguments, { changer, texts }: Means): Promise<TextResult> {
  const { signal } = context;
  const sandbox = await context.sandbox(args.sandbox);
  const path = toAbsolute(sandbox, args.path);
  return changer.alone(sandbox, signal, async () => {
    const before = await readEditable(sandbox.guest.files, path, signal);
    const request = { content: before.content, edits: args.edits, name: args.path, path };
    const { content, replacements, diff } = await texts.run("edit", request, { owner: context.principal.id, signal });
    const change = await changeFile(sandbox, { path, before, after: content }, signal);
    const count = replacements === 1 ? "1 replacement" : `${replacements} replacements`;
    const text = `Edited ${path}: ${count}, ${content.length} bytes now${diffText(diff)}${undoText(change)}`;
    return textResult({ path, replacements, size: content.length, ...showDiff(diff), ...undoField(change) }, text);
  });
}
