// Shows an answer as plain text if drawing it fails. The rest of the page goes on.

import { Component, type ReactNode } from "react";

interface Props {
  plain: string;
  children: ReactNode;
}

export class Guard extends Component<Props, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? <p className="plain" dir="auto">{this.props.plain}</p> : this.props.children;
  }
}
