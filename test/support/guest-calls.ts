import { Readable } from "node:stream";
import { once } from "node:events";
import type { Guest, GuestFiles } from "../../src/runtime/guest/guest.ts";

export type GuestCall = (guest: Guest, signal: AbortSignal) => Promise<unknown>;

/** Every operation of a guest connection, each called so that it waits for an answer. One that is not here does not compile. */
export const GUEST_CALLS: { readonly [Name in Exclude<keyof Guest, "files">]: GuestCall } = {
  exec: async (guest, signal) => (await guest.exec({ argv: ["sleep", "600"], signal })).exited,
  keep: async (guest, signal) => (await guest.keep("x", { argv: ["sleep", "600"], signal })).exited,
  attach: (guest, signal) => guest.attach("x", signal),
  listKept: (guest, signal) => guest.listKept(signal),
  describeKept: (guest, signal) => guest.describeKept("x", signal),
  run: (guest, signal) => guest.run({ argv: ["sleep", "600"], signal }),
  dial: (guest, signal) => guest.dial(80, signal),
  // Waits for programs inside, as long as they like: its end is the caller's.
  accept: async (guest) => {
    for await (const connection of guest.accept("x", { signal: AbortSignal.timeout(100) })) connection.stream.destroy();
    throw new Error("the wait was ended by its caller");
  },
  listen: (guest, signal) => guest.listen([{ address: "127.0.0.1", port: 4_712 }], { signal }),
  processes: (guest, signal) => guest.processes(signal),
  signalProcess: (guest, signal) => guest.signalProcess(4_000_000, 15, { signal }),
  usage: (guest, signal) => guest.usage(signal),
  ping: (guest, signal) => guest.ping(signal),
  still: async (guest, signal) => (await guest.still(signal)).end(),
  shutdown: (guest, signal) => guest.shutdown(100, signal),
};

export const FILE_CALLS: { readonly [Name in keyof GuestFiles]: GuestCall } = {
  stat: ({ files }, signal) => files.stat("x", { signal }),
  list: async ({ files }, signal) => {
    for await (const row of files.list(".", { signal })) if (!row.path) break;
  },
  open: async ({ files }, signal) => once((await files.open("x", { signal })).content.resume(), "end"),
  read: ({ files }, signal) => files.read("x", { signal }),
  write: async ({ files }, signal) => {
    await Promise.all([
      files.write("x", "few", { signal }),
      files.write("x", Buffer.alloc(4_000_000), { signal }),
      files.write("x", Readable.from([Buffer.alloc(1_000), Buffer.alloc(3_000_000)]), { signal }),
    ]);
  },
  makeDirectory: ({ files }, signal) => files.makeDirectory("x", { signal }),
  rename: ({ files }, signal) => files.rename("x", "y", { signal }),
  remove: ({ files }, signal) => files.remove("x", { signal }),
  copy: ({ files }, signal) => files.copy("x", "y", { signal }),
  symlink: ({ files }, signal) => files.symlink("x", "y", { signal }),
  setAttributes: ({ files }, signal) => files.setAttributes("x", { mode: 0o600, signal }),
  getXattr: ({ files }, signal) => files.getXattr("x", "user.a", { signal }),
  setXattr: ({ files }, signal) => files.setXattr("x", "user.a", Buffer.from("b"), { signal }),
  listXattrs: ({ files }, signal) => files.listXattrs("x", { signal }),
  removeXattr: ({ files }, signal) => files.removeXattr("x", "user.a", { signal }),
  watch: ({ files }, signal) => files.watch(".", { signal }),
};
