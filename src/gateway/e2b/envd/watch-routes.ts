import * as z from "zod";
import type { Asked, Route } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { defineUnary } from "./connect/define-call.ts";
import { defineStream } from "./connect/define-stream.ts";
import { protoMessage } from "./connect/proto-message.ts";
import type { CallPlace } from "./files/call-place.ts";
import type { PolledWatchers } from "./files/polled-watchers.ts";
import { watchEventSchema, watchFolder } from "./files/watch-events.ts";

const SERVICE = "/filesystem.Filesystem";

/** `allowNetworkMounts` changes nothing: a sandbox has no file systems of other machines. */
const watched = protoMessage({
  path: z.string().max(16_384).default(""),
  recursive: z.boolean().default(false),
  includeEntry: z.boolean().default(false),
});

const streamed = z.union([
  z.object({ start: z.object({}) }),
  z.object({ filesystem: watchEventSchema }),
  z.object({ keepalive: z.object({}) }),
]);

const oneWatcher = protoMessage({ watcherId: z.string().max(100).default("") });

/** Changes of folders, as they come or when they are asked for. */
export function watchRoutes({ log }: E2b, enter: (asked: Asked) => Promise<CallPlace>, watchers: PolledWatchers): readonly Route[] {
  return [
    defineStream(
      {
        path: `${SERVICE}/WatchDir`,
        summary: "Tells of changes in a folder, until the client goes or its time is over",
        input: watched,
        event: streamed,
        keepalive: { keepalive: {} },
        async *events({ asked, input, signal }) {
          const { files, call, toPath } = await enter(asked);
          const events = await watchFolder(files, { ...input, path: toPath(input.path) }, { ...call, signal });
          yield { start: {} };
          for await (const filesystem of events) yield { filesystem };
        },
      },
      log,
    ),
    defineUnary({
      path: `${SERVICE}/CreateWatcher`,
      summary: "Begins to collect the changes in a folder",
      input: watched,
      output: z.object({ watcherId: z.string() }),
      async handle(asked) {
        const { sandbox, owner, files, call, toPath } = await enter(asked);
        const wish = { ...asked.body, path: toPath(asked.body.path) };
        return { watcherId: await watchers.add({ sandbox, owner }, (signal) => watchFolder(files, wish, { ...call, signal })) };
      },
    }),
    defineUnary({
      path: `${SERVICE}/GetWatcherEvents`,
      summary: "The changes since the last question",
      input: oneWatcher,
      output: z.object({ events: z.array(watchEventSchema).readonly() }),
      async handle(asked) {
        const { sandbox } = await enter(asked);
        return { events: watchers.take(sandbox, asked.body.watcherId) };
      },
    }),
    defineUnary({
      path: `${SERVICE}/RemoveWatcher`,
      summary: "Ends a collection of changes",
      input: oneWatcher,
      output: z.object({}),
      async handle(asked) {
        const { sandbox } = await enter(asked);
        watchers.remove(sandbox, asked.body.watcherId);
        return {};
      },
    }),
  ];
}
