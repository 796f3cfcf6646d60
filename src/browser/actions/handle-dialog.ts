import * as z from "zod";
import { defineAction } from "./action.ts";
import { Change } from "./change.ts";
import { TEXT_MAX } from "./fields.ts";

export const HANDLE_DIALOG_FIELDS = {
  accept: z.boolean(),
  text: z.string().max(TEXT_MAX).optional().describe("Answers a prompt"),
};

const Args = z.object(HANDLE_DIALOG_FIELDS);
export type HandleDialogArgs = z.infer<typeof Args>;

export const HANDLE_DIALOG = defineAction({ name: "handle_dialog", args: Args, value: Change, isUrgent: true });
