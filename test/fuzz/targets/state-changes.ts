import { ok } from "node:assert/strict";
import { encodeFields } from "../../../src/protocol/fields.ts";
import { ENTRY_TYPE } from "../../../src/protocol/wire.ts";
import { parseStateChange } from "../../../src/runtime/namespace/states/state-changes.ts";
import { pureTarget } from "../fuzz-target.ts";
import { refused } from "./refused.ts";

const entry = encodeFields([["TYPE", ENTRY_TYPE.LINK], ["MODE", 0o777], ["UID", 0], ["GID", 0], ["SIZE", 0], ["MTIME_NS", 1n], ["TARGET", "x"]]); // prettier-ignore
const attributed = encodeFields([["TYPE", ENTRY_TYPE.FILE], ["MODE", 0o644], ["UID", 0], ["GID", 0], ["SIZE", 0], ["MTIME_NS", 1n], ["FILE", "1-2"], ["ATTRIBUTES", Buffer.from("user.a\0\0\0\0\x01v")]]); // prettier-ignore
const change = encodeFields([["PATH", "/a"], ["BEFORE", entry], ["AFTER", entry], ["FLAGS", 1]]); // prettier-ignore

/** What `compare` says of a hostile layer: it is refused, or a change of an absolute path that has a side. */
export const stateChanges = pureTarget({
  seeds: [change, encodeFields([["PATH", "/"], ["AFTER", entry]]), encodeFields([["PATH", "/"], ["AFTER", attributed]])], // prettier-ignore
  words: [entry, attributed, Buffer.from("/a")],
  run(input) {
    refused(() => {
      const { path, before, after } = parseStateChange(input);
      ok(path[0] === 0x2f && !path.includes(0) && (before ?? after) !== undefined);
    });
  },
});
