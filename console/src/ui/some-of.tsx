import { type ReactNode, useState } from "react";
import { contentWords } from "../texts/content.js";
import { Button } from "./parts.js";

interface FirstOfProps<T> {
  readonly items: readonly T[];
  /** Items that are shown at first, and with each click. */
  readonly step: number;
  readonly children: (item: T, at: number) => ReactNode;
}

/** Shows the first of many items, and more of them when asked. */
export function FirstOf<T>({ items, step, children }: FirstOfProps<T>): ReactNode {
  const [limit, setLimit] = useState(step);
  return (
    <>
      {items.slice(0, limit).map(children)}
      {items.length > limit && (
        <div>
          <Button onClick={() => setLimit(limit + step)}>{contentWords.showItems(items.length - limit)}</Button>
        </div>
      )}
    </>
  );
}

/** Shows the last of many items, and earlier ones when asked. */
export function LastOf({ items, step }: { readonly items: readonly ReactNode[]; readonly step: number }): ReactNode {
  const [limit, setLimit] = useState(step);
  return (
    <>
      {items.length > limit && (
        <div>
          <Button onClick={() => setLimit(limit + step)}>{contentWords.showEarlier(items.length - limit)}</Button>
        </div>
      )}
      {items.slice(-limit)}
    </>
  );
}
