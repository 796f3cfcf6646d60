import type { ChangeFacts } from "../../actions/change.ts";
import type { FillFormArgs } from "../../actions/fill-form.ts";
import { defineHandler } from "../handler.ts";
import type { Tab } from "../tab.ts";
import { act, ACT_MS, reasoned } from "./act.ts";
import { DriverError } from "../driver-error.ts";
import { elementOf, needTarget } from "./target.ts";

export const fillForm = defineHandler<FillFormArgs, ChangeFacts>({
  name: "fill_form",
  run: (tab, { fields, submit = false }) =>
    act(tab, async () => {
      for (const [index, field] of fields.entries()) await fillNumbered(tab, field, { index, total: fields.length });
      if (submit) await tab.page.keyboard.press("Enter");
    }),
});

type Field = FillFormArgs["fields"][number];

/** Says which field it was, and so how far it came: the fields before it are filled. */
async function fillNumbered(tab: Tab, field: Field, place: { readonly index: number; readonly total: number }): Promise<void> {
  try {
    await reasoned(() => fill(tab, field));
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    throw new DriverError(error.code, `Field ${place.index + 1} of ${place.total}, with those before it filled: ${error.message}`);
  }
}

async function fill(tab: Tab, field: Field): Promise<void> {
  const { value } = field;
  const element = await elementOf(tab, await needTarget(tab, field), ACT_MS);
  const how = { timeout: ACT_MS };
  if (typeof value === "boolean") return element.setChecked(value, how);
  const isList = await element.evaluate((node: unknown) => (node as { readonly nodeName: string }).nodeName === "SELECT");
  if (isList || typeof value !== "string") return void (await element.selectOption(value, how));
  await element.fill(value, how);
  await element.focus();
}
