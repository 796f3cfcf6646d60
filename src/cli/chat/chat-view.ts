import { printable } from "../../files/printable.ts";
import { coloursFor } from "../colours.ts";
import type { CommandContext } from "../command.ts";
import { plural, printLine, printProblems } from "../print.ts";
import type { Price } from "./price.ts";
import { costOf } from "./price.ts";
import type { TurnDoor, TurnResult } from "./run-turn.ts";
import { TextOut } from "./text-out.ts";

const ARGUMENTS_SHOWN = 500;
const RESULT_SHOWN = 200;

/** What a person sees of a chat: the model's words on stdout, and everything else on stderr. */
export interface ChatView {
  readonly ears: Pick<TurnDoor, "onText" | "onCall" | "onResult" | "onReply">;
  begin(model: string, tools: number): void;
  end(result: TurnResult, maxSteps: number): void;
  /** Ends the line that a reply was in the middle of. */
  broken(): void;
}

export function createChatView(context: CommandContext, price: Price | undefined): ChatView {
  const { stdout, stderr } = context;
  const { dim } = coloursFor(stderr, context.env);
  const out = new TextOut(stdout);
  let dollars = 0;
  return {
    begin: (model, tools) => printLine(stderr, `${model}, with ${plural(tools, "tool")}`),
    broken: () => out.endLine(),
    ears: earsOf(context, out),
    end({ usage, calls, isOut }, maxSteps) {
      if (isOut) printProblems(stderr, [`The model has had its ${plural(maxSteps, "step")}: say "go on", or use --max-steps`]);
      const cost = costOf(usage, price);
      dollars += cost ?? 0;
      const parts = [
        `${usage.inputTokens} tokens in, ${usage.outputTokens} out`,
        ...(calls > 0 ? [plural(calls, "call")] : []),
        ...(cost === undefined ? [] : [`$${cost.toFixed(4)}, $${dollars.toFixed(4)} so far`]),
      ];
      stderr.write(`${dim(parts.join("; "))}\n`);
    },
  };
}

function earsOf({ stderr, env }: CommandContext, out: TextOut): ChatView["ears"] {
  const { dim, yellow } = coloursFor(stderr, env);
  return {
    onText: (text) => out.write(text),
    onReply({ cut }) {
      out.endLine();
      if (cut !== undefined) printProblems(stderr, [`The model's reply ends here, because ${cut}`]);
    },
    onCall({ name, argumentsText }, tool) {
      const about = tool ? `${tool.server}: ${tool.tool}` : name;
      stderr.write(`${dim(`[${printable(shortened(about, RESULT_SHOWN))}] ${printable(shortened(argumentsText, ARGUMENTS_SHOWN))}`)}\n`);
    },
    onResult({ text, isError }) {
      const line = `  ${isError ? "failed: " : ""}${printable(shortened(text.trim(), RESULT_SHOWN))}`;
      stderr.write(`${isError ? yellow(line) : dim(line)}\n`);
    },
  };
}

function shortened(text: string, max: number): string {
  const [line = ""] = text.split("\n", 1);
  return line.length < text.length || line.length > max ? `${line.slice(0, max)} ...` : line;
}
