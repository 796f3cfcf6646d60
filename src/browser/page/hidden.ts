/** Boxes without anything to see may hold what is seen: those with `display: contents` have no box at all. */
export function isHidden(element: Element): boolean {
  if (element instanceof HTMLSlotElement || element.checkVisibility({ visibilityProperty: true })) return false;
  const { display, visibility } = getComputedStyle(element);
  // A child may be visible in a box that is not.
  return !(display === "contents" || (visibility === "hidden" && element.querySelector("[style*=visible]") !== null));
}
