import * as z from "zod";
import { defineAction } from "./action.ts";
import { Change } from "./change.ts";
import { TARGET_FIELDS } from "./fields.ts";

const PATH_MAX = 4_096;
const FILES_MAX = 20;

export const UPLOAD_FILE_FIELDS = {
  ...TARGET_FIELDS,
  paths: z.array(z.string().min(1).max(PATH_MAX)).max(FILES_MAX).describe("Of files in the sandbox; none: take the files away"),
};

const Args = z.object(UPLOAD_FILE_FIELDS);
export type UploadFileArgs = z.infer<typeof Args>;

/** The files are opened inside, by the sandbox's user. */
export const UPLOAD_FILE = defineAction({ name: "upload_file", args: Args, value: Change });
