import type { ChangeFacts } from "../../actions/change.ts";
import type { HandleDialogArgs } from "../../actions/handle-dialog.ts";
import { defineHandler } from "../handler.ts";
import { act } from "./act.ts";

export const handleDialog = defineHandler<HandleDialogArgs, ChangeFacts>({
  name: "handle_dialog",
  isUrgent: true,
  run: (tab, { accept, text }, call) => act(tab, call, () => tab.answerDialog(accept, text), { isUrgent: true }),
});
