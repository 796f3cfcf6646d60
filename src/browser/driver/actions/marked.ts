import type { MarkedArgs, MarkedValue } from "../../actions/marked.ts";
import { DriverError } from "../driver-error.ts";
import { defineHandler } from "../handler.ts";

export const marked = defineHandler<MarkedArgs, MarkedValue>({
  name: "marked",
  mayLinger: true,
  async run({ log }, { number }) {
    const ref = log.marked[number];
    if (ref !== undefined) return { value: { ref } };
    throw new DriverError("ELEMENT_NOT_FOUND", `The last picture has no element with the number ${number}: take another one`);
  },
});
