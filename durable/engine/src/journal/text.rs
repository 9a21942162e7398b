//! Text that clients have received and that a commit writes.

use wire::protocol::{ChunkKind, Place, Seq};

wire::tagged! {
    /// The streamed text of one part. A reader can rebuild the very same chunks from it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TextPart {
        pub part_id: String,
        pub model_call_id: String,
        pub kind: ChunkKind,
        ..pub place: Place { parent_id, depth },
        /// Each chunk's number and its length in bytes of `text`, in order.
        pub chunks: Vec<(Seq, u32)>,
        pub text: String,
        /// The part goes on in another row, so its last chunk is not among these.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub more: bool,
    }
}
