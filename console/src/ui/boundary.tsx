import { Component, type ReactNode } from "react";

interface BoundaryProps {
  /** Shown in place of content that cannot be shown. */
  readonly instead: ReactNode;
  readonly children: ReactNode;
}

/** Keeps content that breaks its view, such as that of an agent, from taking the page with it. */
export class Boundary extends Component<BoundaryProps, { readonly isBroken: boolean }> {
  override state: { readonly isBroken: boolean } = { isBroken: false };

  static getDerivedStateFromError(): { readonly isBroken: boolean } {
    return { isBroken: true };
  }

  override render(): ReactNode {
    return this.state.isBroken ? this.props.instead : this.props.children;
  }
}
