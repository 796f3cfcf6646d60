import { fromDockerfile } from "./from-dockerfile.ts";
import { fromFolder } from "./from-folder.ts";
import { fromImage } from "./from-image.ts";
import { fromSnapshot } from "./from-snapshot.ts";
import type { Making, MakingParts, Wish } from "./making.ts";

/** Makes what a wish names. On rejection no layer has the template as its user. */
export function makeTemplate(parts: MakingParts, wish: Wish): Promise<Making> {
  const { image, dockerfile, folder, snapshot = "" } = wish.options;
  if (dockerfile !== undefined) return fromDockerfile(parts, wish, dockerfile);
  if (folder !== undefined) return fromFolder(parts, wish, folder);
  return image === undefined ? fromSnapshot(parts, wish, snapshot) : fromImage(parts, wish, image);
}
