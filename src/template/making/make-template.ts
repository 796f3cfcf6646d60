import { fromDockerfile } from "./from-dockerfile.ts";
import { fromImage } from "./from-image.ts";
import { fromSnapshot } from "./from-snapshot.ts";
import type { Making, MakingParts, Wish } from "./making.ts";

/** Makes what a wish names. On rejection no layer has the template as its user. */
export function makeTemplate(parts: MakingParts, wish: Wish): Promise<Making> {
  const { image, dockerfile, snapshot = "" } = wish.options;
  if (dockerfile !== undefined) return fromDockerfile(parts, wish, dockerfile);
  return image === undefined ? fromSnapshot(parts, wish, snapshot) : fromImage(parts, wish, image);
}
