import { join } from "node:path";
import { Fields } from "../../protocol/fields.ts";
import { FrameDecoder } from "../../protocol/frames.ts";
import { encodeHead } from "../../protocol/head.ts";
import { FRAME, OPERATION } from "../../protocol/wire.ts";
import { toLook } from "../guest/keeper-client.ts";
import type { RunLook } from "../contract/runtime.ts";
import { askTogether } from "./ask-together.ts";

/** Of KEEPER_STATUS: without what the sandbox uses. */
const BRIEF = 1;

/** Asks the keeper and the guest of each run, by the folders of their sockets. As `Runtime.look`. */
export async function lookAtRuns(binary: string, folders: readonly string[]): Promise<readonly (RunLook | undefined)[]> {
  const [status, ping] = [encodeHead(OPERATION.KEEPER_STATUS, [["FLAGS", BRIEF]]), encodeHead(OPERATION.PING, [])];
  const questions = folders.flatMap((folder) => [
    { path: join(folder, "keeper"), request: status },
    { path: join(folder, "guest"), request: ping },
  ]);
  const answers = await askTogether(binary, questions);
  return folders.map((_, at) => lookOf(answers[2 * at], answers[2 * at + 1]));
}

function lookOf(keeper: Buffer | undefined, guest: Buffer | undefined): RunLook | undefined {
  try {
    const said = keeper && readReply(keeper);
    const look = said && toLook(said);
    if (look?.phase === "paused") return look;
    return look?.phase === "running" && guest && readReply(guest) ? look : undefined;
  } catch {
    return undefined; // nonsense is told to whoever looks at that run alone
  }
}

/** Undefined unless the frame is a whole REPLY. */
function readReply(frame: Buffer): Fields | undefined {
  let reply: Fields | undefined;
  const decoder = new FrameDecoder((type, _channel, payload) => {
    if (type === FRAME.REPLY) reply = Fields.parse(payload);
  });
  decoder.push(frame);
  return reply;
}
