import { BelljarError } from "../../errors.ts";
import { findRoom, tellRoom } from "../quota-room.ts";
import { fromDebian } from "./from-debian.ts";
import { fromDockerfile, fromSteps } from "./from-dockerfile.ts";
import { fromFolder } from "./from-folder.ts";
import { fromImage } from "./from-image.ts";
import { fromSnapshot } from "./from-snapshot.ts";
import { fromTemplate } from "./from-template.ts";
import type { Making, MakingParts, Wish } from "./making.ts";

/** Makes what a wish names. It takes no more than the quota leaves. On rejection no layer has the template as its user. */
export async function makeTemplate(parts: MakingParts, wish: Wish): Promise<Making> {
  assertRoot(parts, wish);
  const room = await findRoom(parts, wish);
  try {
    return await fromFiles({ ...parts, maxBytes: room }, wish);
  } catch (cause) {
    throw tellRoom(cause, room, parts);
  }
}

/** Only what is there already, an image or a snapshot, needs no root of a sandbox. */
function assertRoot({ root = true }: MakingParts, { options: { image, snapshot }, copyOf }: Wish): void {
  if (root || image !== undefined || snapshot !== undefined || copyOf) return;
  throw new BelljarError(
    "FORBIDDEN",
    "Dockerfiles, folders and Debian suites are built by root of a sandbox, and the configuration (sandbox.root) allows none: import an image or a snapshot",
  );
}

function fromFiles(parts: MakingParts, wish: Wish): Promise<Making> {
  const { image = "", dockerfile, folder, debian, snapshot } = wish.options;
  const { work, copyOf } = wish;
  if (copyOf) return fromTemplate(parts, wish, copyOf);
  if (work) return fromSteps(parts, wish, work);
  if (snapshot !== undefined) return fromSnapshot(parts, wish, snapshot);
  if (dockerfile !== undefined) return fromDockerfile(parts, wish, dockerfile);
  if (folder !== undefined) return fromFolder(parts, wish, folder);
  return debian === undefined ? fromImage(parts, wish, image) : fromDebian(parts, wish, debian);
}
