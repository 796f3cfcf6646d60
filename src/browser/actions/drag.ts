import * as z from "zod";
import { defineAction } from "./action.ts";
import { Change } from "./change.ts";
import { ref, selector } from "./fields.ts";

const coordinate = z.number().optional();

export const DRAG_FIELDS = {
  start_ref: ref,
  start_selector: selector,
  coordinate_x_start: coordinate,
  coordinate_y_start: coordinate,
  end_ref: ref,
  end_selector: selector,
  coordinate_x_end: coordinate,
  coordinate_y_end: coordinate,
};

const Args = z.object(DRAG_FIELDS);
export type DragArgs = z.infer<typeof Args>;

export const DRAG = defineAction({ name: "drag", args: Args, value: Change });
