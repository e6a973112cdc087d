//! What the double does not do is refused, never guessed.

/// Methods of a service that answer UNIMPLEMENTED, in the shape that `async_trait` gives them.
#[macro_export]
macro_rules! refuse {
    ($($name:ident($request:ty) -> $response:ty;)*) => {$(
        fn $name<'life, 'run>(
            &'life self,
            _: tonic::Request<$request>,
        ) -> std::pin::Pin<Box<dyn Future<Output = Result<tonic::Response<$response>, tonic::Status>> + Send + 'run>>
        where
            'life: 'run,
            Self: 'run,
        {
            Box::pin(async { Err(tonic::Status::unimplemented(concat!("the double has no ", stringify!($name)))) })
        }
    )*};
}
