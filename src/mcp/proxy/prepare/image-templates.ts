import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { ImageLaunch } from "../hub-settings.ts";

/** A template that was made from an image. */
export interface ImageTemplate {
  readonly template: string;
  /** What the image runs by itself. */
  readonly command: readonly string[];
  /** The part of it that stays when the image is run with other arguments. */
  readonly entrypoint: readonly string[];
}

export interface ImageTemplates {
  /** Undefined if the principal has none from that image. Throws `ARGUMENTS_INVALID` for what names no image. */
  find(principal: Principal, image: string): Promise<ImageTemplate | undefined>;
  /** The command that makes one. */
  remedy(image: string): string;
}

/** The template of an image, and what to run in it. Rejects with `TEMPLATE_NOT_FOUND`, which says how to make it. */
export async function findImage(
  images: ImageTemplates | undefined,
  principal: Principal,
  { image, args }: ImageLaunch,
): Promise<{ readonly template: string; readonly argv: readonly string[] }> {
  const found = await images?.find(principal, image);
  if (!found)
    throw new BelljarError("TEMPLATE_NOT_FOUND", `no template is made from the image ${image}: ${images?.remedy(image) ?? "import it"}`);
  const argv = args.length === 0 ? found.command : [...found.entrypoint, ...args];
  if (argv.length > 0) return { template: found.template, argv };
  throw new BelljarError("SERVER_UNREACHABLE", `the image ${image} runs nothing by itself: name the program behind it`);
}
