import type { Route } from "../../../routes/route.ts";
import { defineUnary } from "../connect/define-call.ts";
import { giveInput } from "./give-input.ts";
import { closeRequest, empty, inputRequest, listAnswer, listRequest, signalRequest, updateRequest } from "./messages.ts";
import type { ProcessPlace } from "./process-streams.ts";

/** A whole window of the guest in base64, many times over. */
const INPUT_MAX_BYTES = 4 * 1024 * 1024;

export function processCalls({ tableOf }: Pick<ProcessPlace, "tableOf">): readonly Route[] {
  return [
    defineUnary({
      path: "/process.Process/List",
      summary: "The processes that clients have started and that run",
      input: listRequest,
      output: listAnswer,
      async handle({ request, signal }) {
        const processes = await tableOf(request).list(signal);
        return {
          processes: processes.map(({ pid, note: { cmd, args, envs, cwd, tag } }) => ({
            config: { cmd, args: [...args], envs: { ...envs }, ...(cwd !== undefined && { cwd }) },
            pid,
            ...(tag !== undefined && { tag }),
          })),
        };
      },
    }),
    defineUnary({
      path: "/process.Process/SendInput",
      summary: "Writes to a process's stdin or terminal",
      input: inputRequest,
      output: empty,
      limitBytes: INPUT_MAX_BYTES,
      async handle({ request, body, signal }) {
        await giveInput(await tableOf(request).find(body.process, signal), body.input, signal);
        return {};
      },
    }),
    defineUnary({
      path: "/process.Process/CloseStdin",
      summary: "Ends a process's stdin",
      input: closeRequest,
      output: empty,
      async handle({ request, body, signal }) {
        await (await tableOf(request).find(body.process, signal)).closeInput(signal);
        return {};
      },
    }),
    defineUnary({
      path: "/process.Process/SendSignal",
      summary: "Signals a process and its group: SIGTERM or SIGKILL",
      input: signalRequest,
      output: empty,
      async handle({ request, body, signal }) {
        await (await tableOf(request).find(body.process, signal)).signal(body.signal, signal);
        return {};
      },
    }),
    defineUnary({
      path: "/process.Process/Update",
      summary: "Gives a process's terminal another size",
      input: updateRequest,
      output: empty,
      async handle({ request, body, signal }) {
        const process = await tableOf(request).find(body.process, signal);
        if (body.pty?.size) await process.resize(body.pty.size, signal);
        return {};
      },
    }),
  ];
}
