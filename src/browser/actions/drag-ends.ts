import type { DragArgs } from "./drag.ts";
import type { TargetArgs } from "./fields.ts";

/** From where, and to where. */
export function endsOf(args: DragArgs): readonly [from: TargetArgs, to: TargetArgs] {
  const { start_ref, start_selector, coordinate_x_start, coordinate_y_start } = args;
  const { end_ref, end_selector, coordinate_x_end, coordinate_y_end } = args;
  return [
    { ref: start_ref, selector: start_selector, coordinate_x: coordinate_x_start, coordinate_y: coordinate_y_start },
    { ref: end_ref, selector: end_selector, coordinate_x: coordinate_x_end, coordinate_y: coordinate_y_end },
  ];
}
