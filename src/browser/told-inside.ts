import { BelljarError } from "../errors.ts";

/** A failure in words of the driver, which runs among strangers: a page may have written any of them. */
export class ToldInside extends BelljarError {}
