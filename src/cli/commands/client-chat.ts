import { askCall } from "../chat/ask-call.ts";
import { openModel } from "../chat/chat-settings.ts";
import { createChatView } from "../chat/chat-view.ts";
import { Conversation } from "../chat/conversation.ts";
import { readPrice } from "../chat/price.ts";
import type { TurnDoor } from "../chat/run-turn.ts";
import { runTurn } from "../chat/run-turn.ts";
import { BelljarError } from "../../errors.ts";
import { loadNamedText } from "../../mcp/client/config/load-config-text.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import type { CliClient } from "../mcp-client/open-client.ts";
import { openClient } from "../mcp-client/open-client.ts";
import { readMessages } from "../mcp-client/read-messages.ts";
import { printLine, printProblems } from "../print.ts";
import { usage } from "../usage.ts";

const HELP = "belljar client chat --help";
const STEPS = 20;
const STEPS_MAX = 1000;

/** In a terminal a turn that fails ends alone; in a pipe it ends the command. */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const model = openModel({ model: textOption(call, "model"), api: textOption(call, "api") }, context.env);
  const price = readPrice(textOption(call, "price"));
  const maxSteps = readSteps(textOption(call, "max-steps"));
  const system = await loadSystem(textOption(call, "system"));
  await using open = await openClient(call, context, call.positionals[0]);
  const { tools, problems } = await open.client.listTools({ ...open.request, server: call.positionals[0] });
  printProblems(
    context.stderr,
    problems.map(({ message }) => message),
  );
  const view = createChatView(context, price);
  view.begin(model.name, tools.length);
  const door: TurnDoor = {
    model,
    system,
    tools,
    maxSteps,
    mayCall: async (tool, args, signal) => isSet(call, "yes") || askCall(context, tool, args, signal),
    call: async ({ server, tool }, args, signal) => open.client.callTool({ server, tool, arguments: args }, { ...open.request, signal }),
    ...view.ears,
  };
  const conversation = new Conversation();
  for await (const line of readMessages(context, "you> ")) {
    if (["exit", "quit"].includes(line.trim())) break;
    if (line.trim() !== "") await oneTurn({ conversation, door, open, context, view }, line);
  }
  return 0;
}

interface Chat {
  readonly conversation: Conversation;
  readonly door: TurnDoor;
  readonly open: CliClient;
  readonly context: CommandContext;
  readonly view: ReturnType<typeof createChatView>;
}

async function oneTurn({ conversation, door, open, context, view }: Chat, text: string): Promise<void> {
  using interrupts = openInterrupts(context);
  try {
    conversation.add({ role: "user", text });
    const result = await open.during(() => runTurn(conversation, door, interrupts.signal));
    view.end(result, door.maxSteps);
  } catch (error) {
    view.broken();
    conversation.takeBack();
    if (context.signal.aborted || !(error instanceof BelljarError)) throw error;
    if (interrupts.signal.aborted) return printLine(context.stderr, "Interrupted.");
    if (context.stdin.isTTY !== true) throw error;
    printLine(context.stderr, `belljar: ${error.message} (${error.code})`);
  }
}

/** Until it is disposed, Ctrl+C ends the turn, and not the command. */
function openInterrupts({ signal, holdInterrupts, stdin }: CommandContext): Disposable & { readonly signal: AbortSignal } {
  const turn = new AbortController();
  if (stdin.isTTY !== true) return { signal, [Symbol.dispose]: () => undefined };
  const held = holdInterrupts();
  const interrupt = (): void => turn.abort(new BelljarError("CANCELLED", "The turn was interrupted"));
  process.on("SIGINT", interrupt);
  return {
    signal: AbortSignal.any([signal, turn.signal]),
    [Symbol.dispose]() {
      process.off("SIGINT", interrupt);
      held[Symbol.dispose]();
    },
  };
}

function readSteps(text: string | undefined): number {
  const steps = text === undefined ? STEPS : Number(text);
  if (!Number.isInteger(steps) || steps < 1 || steps > STEPS_MAX) throw usage(`--max-steps is a number from 1 to ${STEPS_MAX}`, HELP);
  return steps;
}

async function loadSystem(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const text = await loadNamedText(path);
  if (text === undefined) throw usage(`There is no file ${path}`, HELP);
  return text;
}
