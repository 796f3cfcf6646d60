import type { Buffer } from "node:buffer";
import { Console } from "node:console";
import { Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { Channel, TextStream } from "./channel.ts";

type Done = (error?: Error | null) => void;

/** What programs write to `process.stdout` and `process.stderr`, and so by `console`, goes through the channel, in order with results. */
export function redirectStreams(channel: Channel): void {
  // Loads what Node loads with the first print: an interrupt then would leave it half loaded.
  new Console(new Writable({ write: (_chunk, _encoding, done) => done() })).log("%o", {});
  for (const [name, fd] of [
    ["stdout", 1],
    ["stderr", 2],
  ] as const) {
    const stream = Object.assign(textStream(channel, name), { fd });
    Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
  }
}

function textStream(channel: Channel, name: TextStream): Writable {
  const decoder = new StringDecoder("utf8");
  const send = (chunk: unknown): void => {
    if (typeof chunk === "string") channel.sendText(name, chunk);
    else if (ArrayBuffer.isView(chunk)) channel.sendText(name, decoder.write(chunk as Buffer));
    else throw new TypeError("Only strings and bytes can be written");
  };
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      send(chunk);
      done();
    },
  });
  // Without the queue of a stream, which a program that is broken off would leave half done.
  const write = (chunk: unknown, encoding?: BufferEncoding | Done, done?: Done): boolean => {
    send(chunk);
    const callback = typeof encoding === "function" ? encoding : done;
    if (callback) process.nextTick(callback);
    return true;
  };
  return Object.assign(stream, { write });
}
