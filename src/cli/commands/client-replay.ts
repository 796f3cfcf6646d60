import { loadNamedText } from "../../mcp/client/config/load-config-text.ts";
import { readRecording } from "../../mcp/client/recording/read-recording.ts";
import { serveReplay } from "../../mcp/client/recording/serve-lines.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [file = ""] = call.positionals;
  const text = await loadNamedText(file);
  if (text === undefined) throw usage(`There is no file ${file}`, "belljar client replay --help");
  await serveReplay(readRecording(text, file, textOption(call, "server")), context);
  return 0;
}
