import { createContext, type ReactNode, useContext } from "react";
import type { Part } from "../../../gen/lf/a2a/v1/a2a_pb.js";

/** Facts about the surrounding page, for views of content. */
export interface ContentPlace {
  /** URL of the agent that the content came from, by whose name fetches of files are noted. */
  readonly agent?: string | undefined;
  /** Shows a data part in another way than as data, such as a form. Returns undefined for those that it does not know, and null
   * for those that are not shown. */
  readonly special?: ((part: Part) => ReactNode | undefined) | undefined;
}

export const ContentContext: React.Context<ContentPlace> = createContext<ContentPlace>({});

export const useContentPlace = (): ContentPlace => useContext(ContentContext);
